/** A line of a diff, with its numbers in the file before and after. */
export interface PatchLine {
  kind: 'head' | 'hunk' | 'added' | 'removed' | 'same';
  text: string;
  old?: number;
  new?: number;
}

/** A file of a diff. */
export interface PatchFile {
  path: string;
  lines: PatchLine[];
  added: number;
  removed: number;
}

/**
 * Reads a git patch. The counts in the headers of hunks separate headers from content, so that no content can pass for a
 * header.
 */
export function readPatch(patch: string): PatchFile[] {
  const files: PatchFile[] = [];
  let [before, after, oldAt, newAt] = [0, 0, 0, 0];
  for (const text of patch.replace(/\n$/, '').split('\n')) {
    const file = files.at(-1);
    if (before > 0 || after > 0) {
      const kind = text.startsWith('+') ? 'added' : text.startsWith('-') ? 'removed' : 'same';
      if (text.startsWith('\\') || file === undefined) continue;
      file.lines.push({
        kind,
        text: text.slice(1),
        ...(kind !== 'added' && { old: oldAt++ }),
        ...(kind !== 'removed' && { new: newAt++ }),
      });
      if (kind !== 'added') before--;
      if (kind !== 'removed') after--;
      if (kind === 'added') file.added++;
      if (kind === 'removed') file.removed++;
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (hunk !== null) {
      [oldAt, before, newAt, after] = [hunk[1], hunk[2] ?? 1, hunk[3], hunk[4] ?? 1].map(Number) as [
        number,
        number,
        number,
        number,
      ];
      file?.lines.push({ kind: 'hunk', text });
    } else if (text.startsWith('diff --git ')) {
      files.push({ path: text.replace(/^diff --git .* b\//, ''), lines: [], added: 0, removed: 0 });
    } else if (file !== undefined && !text.startsWith('index ')) {
      const path = /^(?:\+\+\+ b|rename to )\/?(.+?)\t?$/.exec(text)?.[1];
      if (path !== undefined) file.path = path;
      if (!/^(?:\+\+\+|---) /.test(text)) file.lines.push({ kind: 'head', text });
    }
  }
  return files;
}
