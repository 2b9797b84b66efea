import { readPrdSource } from '../../../src/prd/prd-source.ts';
import { writeFolder, type PrdFolder } from '../../../src/prd/folder/folder-text.ts';

/** A task as Backlog.md writes it. */
export function backlogTask(id: number, { status = 'To Do', needs = '', priority = 'medium' } = {}): string {
  return `---
id: task-${id}
title: Task ${id}
status: ${status}
dependencies: [${needs}]
priority: ${priority}
---

## Description

Do ${id}.

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 ${id} works
<!-- AC:END -->
`;
}

/** The text of a folder with these files. */
export function folderOf(files: Record<string, string>, left: PrdFolder['left'] = []): Uint8Array {
  return writeFolder({ files: Object.entries(files).map(([name, text]) => ({ name, text })), left });
}

/** The files of a folder on the disk by name. */
export async function filesIn(path: string): Promise<string[]> {
  const { bytes } = await readPrdSource(path);
  const { 'halo-folder': files } = JSON.parse(new TextDecoder().decode(bytes)) as {
    'halo-folder': { name: string }[];
  };
  return files.map(({ name }) => name);
}
