import { createHash } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Prd } from '../core/prd.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { reach } from '../lib/failpoint.ts';
import { withLock } from '../lib/lock.ts';
import { markDone, type Progress } from '../prd/mark-done.ts';
import type { RunKeeper } from './worker-context.ts';
import { readRun, type Run } from './read-run.ts';
import { replaceFile } from './replace-file.ts';

/**
 * Marks every story that has landed so far as done in the user's own PRD file, where that is on this machine, and
 * every story that was begun as under way, where the file has a field for it.
 * Safe to repeat: what a worker that died has left out is made up for. Never throws: the verdict on a story stands,
 * whatever becomes of the file.
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
    await reach('write-back.before');
    const gone = await withFileLock(home, path, () => mark(path, progress));
    await reach('write-back.after');
    if (gone.length > 0) log.warn({ runId, path, stories: gone }, 'stories that landed are no longer in the PRD file');
  } catch (error) {
    log.warn({ runId, err: error }, 'progress could not be written back into the PRD file');
  }
}

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
