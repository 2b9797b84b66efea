import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { hasTrait } from '../../core/run/progress.ts';
import type { RunState, StoryState, Unmarked } from '../../core/run/state.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { isFolder } from '../../lib/fs.ts';
import { withLock } from '../../lib/lock.ts';
import { changedFiles } from '../../prd/folder/folder-text.ts';
import { markDone, type PrdProgress } from '../../prd/mark-done.ts';
import { readPrdSource } from '../../prd/prd-source.ts';
import type { RunKeeper } from '../worker-context.ts';
import { readRun, type RunInputs } from './read-run.ts';
import { replaceFile } from '../repository/replace-file.ts';

/**
 * Marks passed stories as done in the user's PRD file, if it is on this machine, and started stories as in progress, if the
 * file has a field for that. Safe to repeat. Never throws: if the file cannot be updated, that becomes an event of the run.
 */
export async function markPrdProgress(keeper: RunKeeper, run: Pick<RunInputs, 'runId' | 'config'>): Promise<void> {
  const { home, store, log } = keeper;
  const { runId, config } = run;
  if (!config.prd.writeBack) return;
  try {
    const state = await store.readState(runId);
    if (!isAbsolute(state.prdPath) || !state.stories.some((story) => hasLanded(story) || isBegun(story))) return;
    const progress = progressOf(state, (await readRun(keeper, runId)).prd);
    const path = await realpath(state.prdPath);
    await assertInsideRepository(state, path);
    await failpoint('write-back.before');
    const gone = await withFileLock(home, path, () => mark(path, progress));
    await failpoint('write-back.after');
    await recordUnmarked(keeper, runId, gone.length === 0 ? undefined : { stories: gone, reason: GONE });
  } catch (error) {
    log.warn({ runId, err: error }, 'PRD progress could not be written');
    await recordMarkFailure(keeper, runId, error).catch((cause: unknown) => {
      log.error({ runId, err: cause }, 'failed PRD update could not be recorded');
    });
  }
}

/** Throws if a PRD file of the repository has become a link to a file outside it. */
async function assertInsideRepository({ prdPath, repo }: RunState, path: string): Promise<void> {
  if (!isBelow(prdPath, repo.source) || isBelow(path, await realpath(repo.source))) return;
  throw new Error('it is now a link that leads out of the repository');
}

function isBelow(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest !== '' && rest.split(sep)[0] !== '..';
}

const GONE = 'it no longer contains them: their ids or, without ids, their texts have changed';

/** Records only passed stories; a missing in-progress mark has no effect on later runs. */
async function recordMarkFailure(keeper: RunKeeper, runId: string, error: unknown): Promise<void> {
  const stories = (await keeper.store.readState(runId)).stories.filter(hasLanded).map(({ id }) => id);
  await recordUnmarked(keeper, runId, stories.length === 0 ? undefined : { stories, reason: reasonOf(error) });
}

/** Records which marks are missing in the PRD file, if that has changed. */
async function recordUnmarked({ store }: RunKeeper, runId: string, unmarked: Unmarked | undefined): Promise<void> {
  if (isSame((await store.readState(runId)).unmarked, unmarked)) return;
  await store.transact(runId, (state) => {
    if (isSame(state.unmarked, unmarked)) return { entries: [], result: undefined };
    const entry: JournalEntry =
      unmarked === undefined ? { type: 'marks.caught_up' } : { type: 'marks.failed', ...unmarked };
    return { entries: [entry], result: undefined };
  });
}

function isSame(a: Unmarked | undefined, b: Unmarked | undefined): boolean {
  return JSON.stringify([a?.stories, a?.reason]) === JSON.stringify([b?.stories, b?.reason]);
}

function reasonOf(error: unknown): string {
  if (error instanceof HaloError) return error.message;
  const { code = '', message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}

const REASONS: Record<string, string> = {
  ENOENT: 'the file is no longer there',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
};

function progressOf(state: RunState, prd: Prd): PrdProgress {
  const landed = new Set(state.stories.filter(hasLanded).map(({ id }) => id));
  return {
    landed: prd.stories.filter(({ id }) => landed.has(id)),
    before: prd.stories.filter(({ status }) => status === 'done'),
    begun: state.stories.filter(isBegun).map(({ id }) => id),
  };
}

/** Also while it is worked on again after feedback. */
function hasLanded({ progress, commit }: StoryState): boolean {
  return progress === 'passed' || commit !== undefined;
}

/** A failed story stays in progress; the next run starts with it. */
function isBegun(story: StoryState): boolean {
  return story.commit === undefined && hasTrait('begun', story);
}

/** Returns the ids of the stories that the file or folder no longer has. */
async function mark(path: string, progress: PrdProgress): Promise<string[]> {
  if (await isFolder(path)) return markFolder(path, progress);
  let gone: string[] = [];
  await replaceFile(path, (bytes) => {
    const marked = markDone(bytes, path, progress);
    gone = marked.gone;
    return marked.bytes;
  });
  return gone;
}

const MAX_TRIES = 3;

/** Marks each story in its own file. A file that is edited in the meantime is read again with the whole folder. */
async function markFolder(path: string, progress: PrdProgress): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    const { bytes } = await readPrdSource(path);
    const marked = markDone(bytes, path, progress);
    let isStale = false;
    for (const { name, before, after } of marked.bytes ? changedFiles(bytes, marked.bytes, path) : []) {
      await replaceFile(join(path, name), (now) => {
        if (Buffer.from(before).equals(now)) return after;
        isStale = true;
        return undefined;
      });
    }
    if (!isStale) return marked.gone;
    if (tries === MAX_TRIES) throw new Error(`${path} changes all the time`);
  }
}

/** Serialises updates of one PRD file by concurrent runs. */
async function withFileLock<T>(home: string, path: string, work: () => Promise<T>): Promise<T> {
  const name = createHash('sha256').update(path).digest('hex').slice(0, 32);
  return withLock(join(home, 'locks', `prd-${name}`), work, { makeFolder: true });
}
