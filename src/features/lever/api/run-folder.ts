import { cannotWrite } from '../../../api/repository/write-error.ts';
import { createFolders, isInside, writeAtomic } from '../../../lib/fs.ts';
import { endsLikeKey, storyKey } from '../../../core/run/story-key.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { appendFile, copyFile, writeFile } from 'node:fs/promises';

/** The files of one run of one task, below `.ralph` of the workspace. */
export interface RunFolder {
  dir: string;
  /** Appends the frames to `codex.jsonl` until they end. Never rejects, because the run directory has the same data. */
  keepLog(frames: AsyncIterable<{ raw: string }>): Promise<void>;
  /** `prompt.md`, copied from the worker's artifacts; missing if the agent was not started. */
  keepPrompt(from: string): Promise<void>;
  keepResult(result: object): Promise<void>;
  /** `verify.log`: the output of the verification commands; none if none ran. */
  keepVerification(logs: readonly { command: string; path: string }[]): Promise<void>;
}

/**
 * Creates `.ralph/runs/<task>/<run>` with the snapshot of the task; git ignores all of `.ralph`. Throws DISK_FAILED.
 */
export async function openRunFolder(
  workspace: string,
  { taskId, runId, task }: { taskId: string; runId: string; task: object },
): Promise<RunFolder> {
  const dir = join(await openRalphFolder(workspace), 'runs', taskName(taskId), runId);
  await assertInWorkspace(workspace, dir);
  await createFolders(dir).catch(cannotWrite(dir));
  const snapshot = join(dir, 'task.json');
  await writeAtomic(snapshot, `${JSON.stringify(task, null, 2)}\n`).catch(cannotWrite(snapshot));
  return {
    dir,
    async keepLog(frames) {
      const path = join(dir, 'codex.jsonl');
      try {
        await writeFile(path, '');
        for await (const { raw } of frames) await appendFile(path, Buffer.from(raw, 'base64'));
      } catch {
        return;
      }
    },
    keepPrompt: (from) => copyFile(from, join(dir, 'prompt.md')).catch(() => undefined),
    async keepVerification(logs) {
      const path = join(dir, 'verify.log');
      for (const { command, path: from } of logs) {
        await appendFile(path, `$ ${command}\n`);
        await pipeline(createReadStream(from), createWriteStream(path, { flags: 'a' })).catch(() => undefined);
      }
    },
    keepResult: (result) => writeAtomic(join(dir, 'result.json'), `${JSON.stringify(result, null, 2)}\n`),
  };
}

/** `.ralph` of a workspace. Throws DISK_FAILED. */
export async function openRalphFolder(workspace: string): Promise<string> {
  const dir = join(workspace, '.ralph');
  await assertInWorkspace(workspace, dir);
  await createFolders(dir).catch(cannotWrite(dir));
  await writeFile(join(dir, '.gitignore'), '*\n', { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') cannotWrite(dir)(error);
  });
  return dir;
}

/** Links of a workspace could make halo write anywhere. */
async function assertInWorkspace(workspace: string, dir: string): Promise<void> {
  if (await isInside(workspace, dir).catch(cannotWrite(dir))) return;
  throw new HaloError('DISK_FAILED', `${dir} is reached through a link that leads out of ${workspace}.`, {
    hint: 'Remove the link.',
  });
}

/** A task's id if it is safe as the name of a folder and a branch, else a safe name derived from it. */
export function taskName(id: string): string {
  const safe = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id) && !/\.\.|\.$|\.lock$/.test(id) && !endsLikeKey(id);
  return safe ? id : storyKey(id);
}
