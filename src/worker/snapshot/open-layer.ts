import { randomBytes } from 'node:crypto';
import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import type { EngineIdentity } from '../../core/engine/engine-identity.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { resetCommand } from '../../core/failure/breaker.ts';
import type { Snapshot } from '../../core/snapshot/snapshot.ts';
import type { SnapshotFiles, SnapshotQuery, StoredSnapshot } from '../../store/snapshot-files.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { openGateResults } from '../attempt/gate-results.ts';
import type { Attempt, SandboxContext, SnapshotLayer } from '../attempt/open-attempt.ts';
import { updateBase } from '../repository/host-repository.ts';
import { CANDIDATE, VIEW } from '../workspace/sandbox-paths.ts';
import type { Checkout } from '../workspace/checkout-script.ts';
import { buildSnapshot, isVolumeIntact, type BuildRequest } from './build-snapshot.ts';
import { snapshotKey, type SnapshotKey } from './snapshot-key.ts';
import { trimForAttempt, trimSnapshots } from './trim-snapshots.ts';

/** What setup would run on. */
interface LayerRequest {
  checkout: Checkout;
  phase: 'setup' | 'gates';
  /** The folder of the logs among the artifacts. */
  folder: string;
  /** Whether a story made the tree: until the commit has landed, the result only serves its run, for this commit. */
  fromStory: boolean;
}

/** How long setup is not tried again after its result could not be a snapshot, in ms. */
const REFUSED_MS = 86_400_000;

/** A snapshot that a change of any file makes useless costs more than a shorter setup, in ms. */
const MIN_SETUP_MS = 3_000;

/** The key of the breaker that stops the use of snapshots of a repository. */
function snapshotBreaker(mirror: string): string {
  return `snapshot:${mirror}`;
}

/**
 * The snapshot for the workspaces of a commit; if there is none, setup runs once and makes it. Undefined if setup must run
 * in each workspace. Ends the attempt if setup fails.
 */
export async function openLayer(attempt: SandboxContext, request: LayerRequest): Promise<SnapshotLayer | undefined> {
  const query = await findKey(attempt, request.checkout);
  if (query === undefined) return undefined;
  const { worker, config } = attempt;
  const onlyRun = request.fromStory ? query.runId : undefined;
  for (;;) {
    const found = await findUsable(attempt, query);
    if (found === 'refused') return undefined;
    const isRechecked = found !== undefined && Math.random() < config.snapshot.recheck;
    if (found !== undefined && !isRechecked) {
      const layer = await holdEarlier(attempt, found, request.phase);
      if (layer !== undefined) return layer;
      continue;
    }
    const lock = await worker.snapshots.lock({ ...query, onlyRun }, attempt.signal);
    try {
      const meanwhile = isRechecked ? undefined : await findUsable(attempt, query);
      if (meanwhile !== undefined) continue;
      const { key, settingsKey, inputs } = query;
      const minSetupMs = found !== undefined || Array.isArray(inputs) ? 0 : MIN_SETUP_MS;
      await attempt.journal.report({
        type: 'snapshot.started',
        phase: request.phase,
        ...(found === undefined ? {} : { again: true }),
      });
      const build = { ...request, key, settingsKey, inputs, minSetupMs };
      return found === undefined ? await makeLayer(attempt, build, onlyRun) : await recheck(attempt, build, found);
    } finally {
      await lock.release();
    }
  }
}

/**
 * The snapshot of the base commit, or of `own`, a commit of the story on it, for which setup runs if there is none yet.
 * Undefined if setup runs in each workspace.
 */
export async function openBaseLayer(attempt: Attempt, own?: string): Promise<SnapshotLayer | undefined> {
  const { config, inputs, resources, journal } = attempt;
  if (config.setup.length === 0 || config.snapshot.mode === 'off') return undefined;
  return journal.phase('setup', async () => {
    await updateBase(attempt);
    const { mirrorDir, candidateDir } = resources;
    const checkout =
      own === undefined
        ? { commit: inputs.base, gitDir: mirrorDir, sources: [VIEW] }
        : { commit: own, gitDir: candidateDir, sources: [VIEW, CANDIDATE] };
    return openLayer(attempt, { checkout, phase: 'setup', folder: 'setup', fromStory: own !== undefined });
  });
}

/** The snapshot of a commit if there is one; nothing is built. */
export async function findLayer(attempt: SandboxContext, checkout: Checkout): Promise<SnapshotLayer | undefined> {
  const query = await findKey(attempt, checkout);
  const found = query && (await findUsable(attempt, query));
  return found === undefined || found === 'refused' ? undefined : holdEarlier(attempt, found, undefined);
}

/** Why no snapshot of a commit was made now, as a clause: a breaker is open, or its result was refused before. */
export async function explainRefusal(attempt: SandboxContext, checkout: Checkout): Promise<string | null> {
  const { worker, resources } = attempt;
  const breakerKey = snapshotBreaker(resources.mirror);
  const { status, reason } = await worker.breakers.read(breakerKey);
  if (status !== 'closed')
    return `the breaker of its snapshots is open (\`${resetCommand(breakerKey)}\` closes it): ${reason ?? 'too many failures'}`;
  const query = await findKey(attempt, checkout);
  const record = query && (await findRecord(worker.snapshots, query))?.record;
  return record !== undefined && 'refused' in record ? record.refused : null;
}

/** Makes the snapshots of a commit that has landed available beyond that commit. */
export async function shareLayers(
  { worker, identity, resources }: Attempt,
  layer: SnapshotLayer | undefined,
  commit: string,
): Promise<void> {
  const keys = [...resources.dataKeys, ...(layer === undefined ? [] : [layer.key])];
  if (keys.length === 0) return;
  const { mirror } = resources;
  const engine = await worker.engineFacts();
  for (const key of keys) await worker.snapshots.promote({ engine, mirror, key, runId: identity.runId, commit });
}

async function findKey(
  attempt: SandboxContext,
  { gitDir, commit }: Checkout,
): Promise<(SnapshotQuery & SnapshotKey & { runId: string }) | undefined> {
  const { config, worker, identity, resources, signal } = attempt;
  if (config.setup.length === 0 || config.snapshot.mode === 'off') return undefined;
  const { mirror } = resources;
  if ((await worker.breakers.read(snapshotBreaker(mirror))).status !== 'closed') return undefined;
  const image = await worker.engine.imageId(config.image);
  if (image === undefined) return undefined;
  const { architecture, ...engine } = await worker.engineFacts();
  const found = await snapshotKey({ gitDir, commit, signal }, { config, image, architecture });
  return { engine, mirror, runId: identity.runId, commit, ...found };
}

/**
 * Checks the snapshots that the workspaces of an attempt began with, because one of its commands has failed. Removes those
 * whose files have changed since they were made: the failure says nothing about the work then. Throws DOCKER_FAILED.
 */
export async function assertLayersIntact(attempt: Attempt): Promise<void> {
  const { worker, resources, journal, inputs } = attempt;
  const stored = new Map(resources.layers.map((each) => [each.record.volume, each]));
  for (const each of stored.values()) {
    if ((await isVolumeIntact(attempt, each.record)) !== false) continue;
    attempt.signal.throwIfAborted();
    await worker.snapshots.remove(each);
    // The gates may have failed on the base commit for the same reason.
    await (await openGateResults(attempt)).forget(inputs.base);
    const reason = `its files are not those that it was made with at ${each.record.createdAt}`;
    await journal.report({ type: 'snapshot.refused', phase: 'setup', reason });
    const id = each.record.key.slice(0, 12);
    throw new HaloError('DOCKER_FAILED', `The snapshot ${id} of the repository is damaged: ${reason}.`, {
      hint: 'halo has removed it and makes it again. Check the disk of the engine if this happens repeatedly.',
    });
  }
}

type Usable = StoredSnapshot & { record: Snapshot };

/** The record for a key, or for the settings, which concerns every snapshot of a whole tree. */
async function findRecord(
  snapshots: SnapshotFiles,
  { settingsKey, inputs, ...query }: SnapshotQuery & SnapshotKey,
): Promise<StoredSnapshot | undefined> {
  const found = await snapshots.find(query);
  return found ?? (Array.isArray(inputs) ? undefined : snapshots.find({ ...query, key: settingsKey }));
}

/** Old records name no engine: their volumes are on the one that the environment names, unless another one has them. */
function isOwn({ engine }: Snapshot, { name }: EngineIdentity): boolean {
  return engine !== undefined || name === LOCAL_ENGINE;
}

/** A record of which the engine has the volume. */
export async function findUsable(
  { worker }: SandboxContext,
  query: SnapshotQuery & SnapshotKey,
): Promise<Usable | 'refused' | undefined> {
  const found = await findRecord(worker.snapshots, query);
  if (found === undefined) return undefined;
  const { record, ...place } = found;
  if ('refused' in record) return worker.now() - Date.parse(record.createdAt) < REFUSED_MS ? 'refused' : undefined;
  if (await worker.engine.hasVolume(record.volume)) return { ...place, record };
  worker.log.info({ volume: record.volume }, 'the volume of a snapshot is gone; it is made again');
  if (isOwn(record, query.engine)) await worker.snapshots.remove(found);
  return undefined;
}

/** Holds a snapshot that this attempt has not made. */
export async function holdEarlier(
  attempt: SandboxContext,
  stored: Usable,
  phase: 'setup' | 'gates' | undefined,
): Promise<SnapshotLayer | undefined> {
  const layer = await holdLayer(attempt, stored, phase);
  if (layer !== undefined) attempt.resources.layers.push(stored);
  return layer;
}

/** `phase`: in which it is reported; undefined: not. */
export async function holdLayer(
  { worker, identity, resources, config, journal }: SandboxContext,
  stored: Usable,
  phase: 'setup' | 'gates' | undefined,
): Promise<SnapshotLayer | undefined> {
  const hold = await worker.snapshots.hold(stored, `${identity.id}-${randomBytes(3).toString('hex')}`);
  if (hold === undefined) return undefined;
  // Closers run in reverse order: after those of the workspaces that begin with it.
  resources.onClose(() => hold.release());
  const { volume, key, digest } = stored.record;
  const mode = await worker.layerMode(config);
  if (phase !== undefined) await journal.report({ type: 'snapshot.used', phase, key, digest, mode });
  return { volume, mode, key, digest, setup: stored.record.setup };
}

async function makeLayer(
  attempt: SandboxContext,
  build: BuildRequest,
  onlyRun: string | undefined,
): Promise<SnapshotLayer | undefined> {
  const { worker, resources, journal } = attempt;
  const { mirror } = resources;
  const record = await buildSnapshot(attempt, build);
  if ('refused' in record) {
    await worker.snapshots.publish({ mirror, record, onlyRun });
    await journal.report({ type: 'snapshot.refused', phase: build.phase, reason: record.refused });
    return undefined;
  }
  await failpoint('snapshot.before');
  await worker.snapshots.publish({ mirror, record, onlyRun });
  await failpoint('snapshot.after');
  worker.inBackground(trimForAttempt(worker, trimSnapshots));
  return holdLayer(attempt, { mirror, record, onlyRun, usedAt: worker.now() }, undefined).then(async (layer) => {
    if (layer === undefined) return undefined;
    const { key, digest, mode } = layer;
    const wholeTree = 'why' in build.inputs ? { wholeTree: build.inputs.why } : {};
    await journal.report({ type: 'snapshot.used', phase: build.phase, key, digest, mode, made: true, ...wholeTree });
    return layer;
  });
}

/** Runs setup again and compares. A difference removes the snapshot and opens the breaker of the repository's snapshots. */
async function recheck(
  attempt: SandboxContext,
  build: BuildRequest,
  stored: Usable,
): Promise<SnapshotLayer | undefined> {
  const { worker, journal } = attempt;
  const again = await buildSnapshot(attempt, build);
  if ('volume' in again) attempt.resources.onClose(() => worker.engine.removeVolume(again.volume));
  const { digest, createdAt } = stored.record;
  if ('volume' in again && again.digest === digest) {
    return holdLayer(attempt, stored, build.phase);
  }
  const reason = 'refused' in again ? again.refused : `setup no longer makes what it made at ${createdAt}`;
  await worker.snapshots.remove(stored);
  await worker.breakers.update(snapshotBreaker(stored.mirror), (breaker) => ({
    breaker: { ...breaker, status: 'open', reason, openedAt: worker.now() },
    result: undefined,
  }));
  await journal.report({ type: 'snapshot.refused', phase: build.phase, reason });
  return undefined;
}
