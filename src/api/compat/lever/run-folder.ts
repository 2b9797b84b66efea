import { appendFile, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { endsLikeKey, storyKey } from '../../../core/run/story-key.ts';
import { writeAtomic } from '../../../lib/atomic-write.ts';
import { isInside } from '../../../lib/inside.ts';
import { cannotWrite } from '../../repository/write-error.ts';

/** The files of one run of one task, below `.ralph` of the workspace. */
export interface RunFolder {
  dir: string;
  /** Appends to `codex.jsonl` what comes, until it ends. Never rejects: the run directory has it all, too. */
  keepLog(lines: AsyncIterable<Uint8Array>): Promise<void>;
  /** `prompt.md`, from where the worker has kept it; without one, the agent was not started. */
  keepPrompt(from: string): Promise<void>;
  keepResult(result: object): Promise<void>;
}

/** Makes `.ralph/runs/<task>/<run>` with the snapshot of the task; git ignores all of `.ralph`. Throws DISK_FAILED. */
export async function openRunFolder(
  workspace: string,
  { taskId, runId, task }: { taskId: string; runId: string; task: object },
): Promise<RunFolder> {
  const dir = join(await openRalphFolder(workspace), 'runs', taskName(taskId), runId);
  await refuseOutside(workspace, dir);
  await mkdir(dir, { recursive: true }).catch(cannotWrite(dir));
  const snapshot = join(dir, 'task.json');
  await writeAtomic(snapshot, `${JSON.stringify(task, null, 2)}\n`).catch(cannotWrite(snapshot));
  return {
    dir,
    async keepLog(lines) {
      const path = join(dir, 'codex.jsonl');
      try {
        await writeFile(path, '');
        for await (const chunk of lines) await appendFile(path, chunk);
      } catch {
        return;
      }
    },
    keepPrompt: (from) => copyFile(from, join(dir, 'prompt.md')).catch(() => undefined),
    keepResult: (result) => writeAtomic(join(dir, 'result.json'), `${JSON.stringify(result, null, 2)}\n`),
  };
}

/** `.ralph` of a workspace. Throws DISK_FAILED. */
export async function openRalphFolder(workspace: string): Promise<string> {
  const dir = join(workspace, '.ralph');
  await refuseOutside(workspace, dir);
  await mkdir(dir, { recursive: true }).catch(cannotWrite(dir));
  await writeFile(join(dir, '.gitignore'), '*\n', { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') cannotWrite(dir)(error);
  });
  return dir;
}

/** Links of a workspace could have halo write anywhere. */
async function refuseOutside(workspace: string, dir: string): Promise<void> {
  if (await isInside(workspace, dir).catch(cannotWrite(dir))) return;
  throw new HaloError('DISK_FAILED', `${dir} is behind a link out of ${workspace}.`, { hint: 'Remove the link.' });
}

/** A task's id where it is safe as the name of a folder and of a branch, else a name made of it. */
export function taskName(id: string): string {
  const safe = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id) && !/\.\.|\.$|\.lock$/.test(id) && !endsLikeKey(id);
  return safe ? id : storyKey(id);
}
