import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run-state.ts';
import { sweepTemporary } from '../../git/mirror/sweep-temporary.ts';
import { listDeadFolders, namesIn } from '../dead-folders.ts';
import type { WorkerContext } from '../worker-context.ts';

/**
 * Removes what attempts left behind whose worker died: containers, volumes, scratch repositories and socket folders.
 * The journal decides: something of an epoch that is not that of a story in progress, or of a run that has ended or is gone, belongs
 * to nobody. What belongs to no run but to a process (probes, folders that are still being filled) goes with that, and
 * what git left unfinished in the repositories of this home when nothing can be at it any more.
 */
export async function sweepOrphans(worker: WorkerContext): Promise<void> {
  await sweepRepositories(worker);
  // Listed before the journals are read: whatever is found belongs to an epoch that they know already.
  const [belongings, folders] = await Promise.all([worker.engine.belongings(worker.homeId), listFolders(worker.home)]);
  const states = new Map<string, Promise<RunState | 'gone' | 'unreadable'>>();
  const isOrphan = async ({ run, epoch }: { run: string; epoch: number }) => {
    const state = states.get(run) ?? worker.store.readState(run).catch(whyNot);
    states.set(run, state);
    return wasAbandoned(await state, epoch);
  };
  for (const belonging of belongings) {
    if (!(await isOrphan(belonging))) continue;
    worker.log.info({ ...belonging }, 'removing what an attempt left behind');
    // One that the engine cannot remove must not keep the others.
    await worker.engine.discard(belonging).catch((error: unknown) => {
      worker.log.warn({ ...belonging, err: error }, 'what an attempt left behind could not be removed');
    });
  }
  for (const folder of folders) {
    if (await isOrphan(folder)) await rm(folder.path, { recursive: true, force: true });
  }
  await worker.engine.discardThrowaways();
  for (const path of await listDeadFolders(worker.home)) await rm(path, { recursive: true, force: true });
}

/** The same of git: packs and locks of processes that were killed. */
async function sweepRepositories({ home, log }: WorkerContext): Promise<void> {
  for (const mirror of await namesIn(join(home, 'repos')))
    for (const name of ['mirror.git', 'held.git'])
      for (const path of await sweepTemporary(join(home, 'repos', mirror, name)))
        log.info({ path }, 'removed what git left unfinished');
}

/** Only a run that is not there is gone; one that cannot be read just now may be alive. */
function whyNot(error: unknown): 'gone' | 'unreadable' {
  return error instanceof HaloError && error.code === 'RUN_NOT_FOUND' ? 'gone' : 'unreadable';
}

/** Whether something made in an epoch of a run has no attempt any more that could use it. */
export function wasAbandoned(
  state: Pick<RunState, 'status' | 'stories'> | 'gone' | 'unreadable',
  epoch: number,
): boolean {
  if (state === 'unreadable') return false;
  if (state === 'gone' || state.status === 'ended') return true;
  return !state.stories.some((story) => story.epoch === epoch && story.progress === 'in_progress');
}

interface Folder {
  path: string;
  run: string;
  epoch: number;
}

/** Scratch repositories `repos/<mirror>/attempts/<run>-…-e<epoch>` and socket folders `sockets/<run>-e<epoch>-…`. */
async function listFolders(home: string): Promise<Folder[]> {
  const mirrors = await namesIn(join(home, 'repos'));
  const attempts = mirrors.map((mirror) => join(home, 'repos', mirror, 'attempts'));
  const found = await Promise.all(
    [...attempts, join(home, 'sockets')].map(async (dir) => (await namesIn(dir)).map((name) => describe(dir, name))),
  );
  return found.flat().filter((folder) => folder !== undefined);
}

/** Begins with the id of a run (lib/id.ts), which has no letter i, l, o or u: others' folders are not ours to remove. */
const FOLDER = /^([0-9a-hjkmnp-tv-z]{8,32})-(?:.*-)?e(\d+)(?:-[0-9a-f]+)?$/;

function describe(dir: string, name: string): Folder | undefined {
  const [, run, epoch] = FOLDER.exec(name) ?? [];
  if (run === undefined) return undefined;
  return { path: join(dir, name), run, epoch: Number(epoch) };
}
