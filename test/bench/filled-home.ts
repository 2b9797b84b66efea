import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newRunId } from '../../src/lib/run-id.ts';

/** Adds copies of a run as it is on disk, as if they had been created one second after the other. */
export function copyRuns(dir: string, templates: readonly string[]): void {
  const runs = join(dir, 'runs');
  const start = Date.UTC(2030, 0, 1);
  templates.forEach((template, index) =>
    copyRun(runs, template, newRunId(new Date(start + index * 1000), randomBytes)),
  );
  for (const list of ['open-runs', 'run-index.jsonl']) rmSync(join(dir, list), { recursive: true });
}

function copyRun(runs: string, template: string, runId: string): void {
  const [from, to] = [join(runs, template), join(runs, runId)];
  mkdirSync(to);
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const target = path.replace(from, to);
    if (entry.isDirectory()) mkdirSync(target, { recursive: true });
    else if (entry.isFile()) {
      mkdirSync(join(target, '..'), { recursive: true });
      writeFileSync(target, readFileSync(path, 'utf8').replaceAll(template, runId));
    }
  }
}
