import { createHash } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { RunState, StoryState, Unmarked } from '../../core/run-state.ts';
import { reach } from '../../lib/failpoint.ts';
import { withLock } from '../../lib/lock.ts';
import { markDone, type Progress } from '../../prd/progress/mark-done.ts';
import type { RunKeeper } from '../worker-context.ts';
import { readRun, type Run } from './read-run.ts';
import { replaceFile } from '../repository/replace-file.ts';

/**
 * Marks every story that has landed so far as done in the user's own PRD file, where that is on this machine, and
 * every story that was begun as under way, where the file has a field for it.
 * Safe to repeat: what a worker that died has left out is made up for. Never throws: the verdict on a story stands,
 * whatever becomes of the file. What the file could not be made to say is an event of the run.
 */
export async function writeBackProgress(keeper: RunKeeper, run: Pick<Run, 'runId' | 'config'>): Promise<void> {
  const { home, store, log } = keeper;
  const { runId, config } = run;
  if (!config.prd.writeBack) return;
  try {
    const state = await store.readState(runId);
    if (!isAbsolute(state.prdPath) || !state.stories.some((story) => hasLanded(story) || isBegun(story))) return;
    const progress = progressOf(state, (await readRun(keeper, runId)).prd);
    const path = await realpath(state.prdPath);
    await refuseLinkOut(state, path);
    await reach('write-back.before');
    const gone = await withFileLock(home, path, () => mark(path, progress));
    await reach('write-back.after');
    await note(keeper, runId, gone.length === 0 ? undefined : { stories: gone, reason: GONE });
  } catch (error) {
    log.warn({ runId, err: error }, 'progress could not be written back into the PRD file');
    await noteFailure(keeper, runId, error).catch((cause: unknown) => {
      log.error({ runId, err: cause }, 'the journal does not say that progress could not be written back');
    });
  }
}

/** What was a file of the repository when the run began may have become a link to somebody else's since. */
async function refuseLinkOut({ prdPath, repo }: RunState, path: string): Promise<void> {
  if (!isBelow(prdPath, repo.source) || isBelow(path, await realpath(repo.source))) return;
  throw new Error('it is now a link that leads out of the repository');
}

function isBelow(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest !== '' && rest.split(sep)[0] !== '..';
}

const GONE = 'it no longer holds them as they were; their ids or, without ids, their texts have changed';

/** Only what landed: a story that is merely under way is not done again because the file does not say so. */
async function noteFailure(keeper: RunKeeper, runId: string, error: unknown): Promise<void> {
  const stories = (await keeper.store.readState(runId)).stories.filter(hasLanded).map(({ id }) => id);
  await note(keeper, runId, stories.length === 0 ? undefined : { stories, reason: reasonOf(error) });
}

/** Tells the journal what the PRD file does not say, unless it knows that already. */
async function note({ store }: RunKeeper, runId: string, unmarked: Unmarked | undefined): Promise<void> {
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

function progressOf(state: RunState, prd: Prd): Progress {
  const landed = new Set(state.stories.filter(hasLanded).map(({ id }) => id));
  return {
    landed: prd.stories.filter(({ id }) => landed.has(id)),
    before: prd.stories.filter(({ status }) => status === 'done'),
    begun: state.stories.filter(isBegun).map(({ id }) => id),
  };
}

function hasLanded({ progress }: StoryState): boolean {
  return progress === 'passed';
}

/** A story that failed stays under way: the next run takes it up first. */
function isBegun({ progress }: StoryState): boolean {
  return progress === 'in_progress' || progress === 'failed' || progress === 'needs_human';
}

/** Answers with the ids of the stories that the file no longer holds. */
async function mark(path: string, progress: Progress): Promise<string[]> {
  let gone: string[] = [];
  await replaceFile(path, (bytes) => {
    const marked = markDone(bytes, path, progress);
    gone = marked.gone;
    return marked.bytes;
  });
  return gone;
}

/** Runs of one PRD can end stories at the same time; none may undo what another has written. */
async function withFileLock<T>(home: string, path: string, work: () => Promise<T>): Promise<T> {
  const folder = join(home, 'locks');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = createHash('sha256').update(path).digest('hex').slice(0, 16);
  return withLock(join(folder, `prd-${name}`), work);
}
