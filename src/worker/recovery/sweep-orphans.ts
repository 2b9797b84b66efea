import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import { sweepTemporary } from '../../git/mirror/mirror-upkeep.ts';
import { readFolder } from '../../lib/fs.ts';
import { isOrphaned, MAX_FOREIGN_CHECK_MS } from '../../lib/process-identity.ts';
import type { LabelledResource } from '../../sandbox/sandbox.ts';
import { CHECK_NAMES } from '../attempt/attempt-identity.ts';
import { trimObjects } from '../objects/trim-objects.ts';
import { isShort, readSnapshotLimits, trimSnapshots } from '../snapshot/trim-snapshots.ts';
import type { WorkerContext } from '../worker-context.ts';
import { SESSION_PHASE, wasSessionAbandoned } from '../workspace/story-session.ts';

/**
 * Removes the resources of attempts whose worker died: containers, volumes, scratch repositories and socket folders. The
 * journal decides: a resource is an orphan if its epoch is not that of a story in progress, or if its run has ended or is
 * gone. Also removes folders of dead processes, unfinished files of git, and snapshots and objects for which there is no space.
 */
export async function sweepOrphans(worker: WorkerContext): Promise<void> {
  await sweepRepositories(worker);
  // Listed before the journals are read, so that the journals know the epoch of every resource.
  const [resources, folders] = await Promise.all([
    worker.engine.listResources(worker.homeId),
    listFolders(worker.home),
  ]);
  const states = new Map<string, Promise<RunState | 'gone' | 'unreadable'>>();
  const stateOf = async (run: string) => {
    const state = states.get(run) ?? worker.store.readState(run).catch(toMissing);
    states.set(run, state);
    return state;
  };
  const now = worker.now();
  const seemsOrphan = async (resource: { run: string; epoch: number } | LabelledResource) =>
    'phase' in resource && resource.phase === SESSION_PHASE && resource.kind === 'volume'
      ? wasSessionAbandoned(await stateOf(resource.run), resource, new Date(now).toISOString())
      : worker.preparedEpochs.get(resource.run) !== resource.epoch &&
        wasAbandoned(await stateOf(resource.run), resource.epoch, now);
  const isOrphan = async (resource: { run: string; epoch: number } | LabelledResource) => {
    if (!(await seemsOrphan(resource))) return false;
    // Removing others takes time, in which an attempt may have begun with what was prepared for it.
    states.delete(resource.run);
    return seemsOrphan(resource);
  };
  let swept = 0;
  for (const resource of resources) if (await isOrphan(resource)) swept += await removeOrphan(worker, resource);
  for (const folder of folders) {
    if (!(await isOrphan(folder))) continue;
    await rm(folder.path, { recursive: true, force: true });
    swept += 1;
  }
  // Metrics that cannot be written must not stop a sweep.
  const warn = (error: unknown) => worker.log.warn({ err: error }, 'removed orphans could not be counted');
  if (swept > 0) await worker.swept(swept).catch(warn);
  for (const resource of await worker.engine.listOrphans()) await removeOrphan(worker, resource);
  for (const path of await listOrphanFolders(worker.home)) await rm(path, { recursive: true, force: true });
  const limits = await readSnapshotLimits(worker.home);
  await trimSnapshots(worker, limits);
  await trimObjects(worker, { isShort: await isShort(worker, limits) });
}

/** Returns how many were removed: a resource that cannot be removed must not block the others. */
async function removeOrphan(
  { engine, log }: WorkerContext,
  resource: Pick<LabelledResource, 'kind' | 'name'>,
): Promise<0 | 1> {
  log.info({ ...resource }, 'removing orphan');
  try {
    await engine.removeResource(resource);
    return 1;
  } catch (error) {
    log.warn({ ...resource, err: error }, 'orphan could not be removed');
    return 0;
  }
}

/** Removes packs and locks of git processes that were killed. */
async function sweepRepositories({ home, log }: WorkerContext): Promise<void> {
  for (const mirror of await readFolder(join(home, 'repos')))
    for (const name of ['mirror.git', 'held.git'])
      for (const path of await sweepTemporary(join(home, 'repos', mirror, name)))
        log.info({ path }, 'removed unfinished file of git');
}

/** An unreadable run may still be alive; only a missing one is gone. */
function toMissing(error: unknown): 'gone' | 'unreadable' {
  return error instanceof HaloError && error.code === 'RUN_NOT_FOUND' ? 'gone' : 'unreadable';
}

/** How long another worker may keep what it prepared for the next attempt after the one before has ended, in ms. */
const PREPARED_MS = 60_000;

/**
 * Whether no attempt can use the resources of an epoch any longer. Another worker may have prepared the next attempt. `now`:
 * in ms since 1970.
 */
export function wasAbandoned(
  state: Pick<RunState, 'status' | 'stories' | 'epoch' | 'createdAt'> | 'gone' | 'unreadable',
  epoch: number,
  now: number,
): boolean {
  if (state === 'unreadable') return false;
  if (state === 'gone' || state.status === 'ended') return true;
  const running = state.stories.filter(({ progress }) => progress === 'in_progress');
  if (epoch === state.epoch + 1) {
    const lastEnd = Math.max(...state.stories.map(({ endedAt }) => Date.parse(endedAt ?? state.createdAt)));
    return running.length === 0 && now - lastEnd > PREPARED_MS;
  }
  return !running.some((story) => story.epoch === epoch);
}

interface Folder {
  path: string;
  run: string;
  epoch: number;
}

/** Scratch repositories `repos/<mirror>/attempts/<run>-…-a<n>-e<epoch>-…` and socket folders `sockets/<run>-e<epoch>-…`. */
async function listFolders(home: string): Promise<Folder[]> {
  const mirrors = await readFolder(join(home, 'repos'));
  const attempts = mirrors.map((mirror) => join(home, 'repos', mirror, 'attempts'));
  const found = await Promise.all(
    [...attempts, join(home, 'sockets')].map(async (dir) =>
      (await readFolder(dir)).map((name) => parseFolder(dir, name)),
    ),
  );
  return found.flat().filter((folder) => folder !== undefined);
}

/** Begins with the id of a run (lib/run-id.ts), which has no letter i, l, o or u: folders of other programs are not removed. */
const FOLDER = /^([0-9a-hjkmnp-tv-z]{8,32})-(?:.+-a\d+-)?e(\d+)(?:-[0-9a-f]+)?$/;

function parseFolder(dir: string, name: string): Folder | undefined {
  const [, run, epoch] = FOLDER.exec(name) ?? [];
  if (run === undefined) return undefined;
  return { path: join(dir, name), run, epoch: Number(epoch) };
}

/** Folders that belong to one process: probes, and runs and mirrors that are being created. */
const OF_A_PROCESS = /(?:^probe|\.new)-([0-9a-f]{6}-\d+-\d*)-\w+$/;

const CHECK = CHECK_NAMES.join('|');
/** Scratch folders of checks: name, epoch, and the process. */
const SCRATCH_OF_CHECK = new RegExp(`^(${CHECK})-.+-(e\\d+)(?:-([0-9a-f]{6}-\\d+-\\d*)-\\w+)?$`);
/** Socket folders of checks. Their paths are too short for a process: the scratch folder with the same epoch names it. */
const SOCKETS_OF_CHECK = new RegExp(`^(${CHECK})-(e\\d+)-`);

/** Folders below a HALO_HOME whose process died before it removed or renamed them. */
export async function listOrphanFolders(home: string): Promise<string[]> {
  const sockets = join(home, 'sockets');
  // Listed first: a check makes its scratch folder before them, and removes it after them.
  const ofChecks = await readFolder(sockets);
  const mirrors = (await readFolder(join(home, 'repos'))).map((name) => join(home, 'repos', name));
  const [views, attempts] = ['views', 'attempts'].map((folder) => mirrors.map((mirror) => join(mirror, folder)));
  const dead: string[] = [];
  for (const dir of [home, sockets, join(home, 'runs'), ...mirrors, ...(views ?? [])]) {
    for (const name of await readFolder(dir)) {
      const [, mark] = OF_A_PROCESS.exec(name) ?? [];
      const path = join(dir, name);
      if (mark !== undefined && isOrphaned(mark, await madeMs(path))) dead.push(path);
    }
  }
  const living = new Set<string>();
  for (const dir of attempts ?? []) {
    for (const name of await readFolder(dir)) {
      const [, check, epoch, mark = ''] = SCRATCH_OF_CHECK.exec(name) ?? [];
      if (check === undefined) continue;
      const path = join(dir, name);
      if (isOrphaned(mark, await madeMs(path), MAX_FOREIGN_CHECK_MS)) dead.push(path);
      else living.add(`${check}-${epoch}`);
    }
  }
  const left = ofChecks.filter((name) => {
    const [, check, epoch] = SOCKETS_OF_CHECK.exec(name) ?? [];
    return check !== undefined && !living.has(`${check}-${epoch}`);
  });
  return [...dead, ...left.map((name) => join(sockets, name))];
}

/** NaN if it was removed in the meantime. */
async function madeMs(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? NaN;
}
