import { createHash, randomBytes } from 'node:crypto';
import type { Snapshot } from '../../../core/snapshot/snapshot.ts';
import { listFiles, type TreeFile } from '../../../git/objects/trees.ts';
import { failpoint } from '../../../lib/failpoint.ts';
import { compileGlobs } from '../../../lib/glob.ts';
import { PROCESS_OWNED, type ImageFacts } from '../../../sandbox/sandbox.ts';
import { imageMissing } from '../../../sandbox/docker/docker-client.ts';
import { withoutLayer, type SandboxContext } from '../../../worker/attempt/open-attempt.ts';
import { sealData } from '../../../worker/snapshot/build-snapshot.ts';
import { findUsable, holdEarlier, holdLayer } from '../../../worker/snapshot/open-layer.ts';
import { surroundingsOf } from '../../../worker/snapshot/snapshot-key.ts';
import { trimForAttempt, trimSnapshots } from '../../../worker/snapshot/trim-snapshots.ts';
import type { Checkout } from '../../../worker/workspace/checkout-script.ts';
import { VIEW } from '../../../worker/workspace/sandbox-paths.ts';
import { dataKeyText } from '../core/prepared-data.ts';
import type { Service } from '../core/service.ts';

/** The data that a service of a command begins with. */
export interface DataRequest {
  service: Service;
  image: ImageFacts;
  /** Of the service. */
  user: number;
  /** The folder with the data. */
  folder: string;
  /** What the command works on. */
  checkedOut: Checkout;
  signal: AbortSignal;
}

/** An empty volume that is to get the data, and the tree in which the commands run. */
export interface DataPlan {
  volume: string;
  tree: Checkout;
  /** A story has changed what decides the data: its tree is used, and a failure is its fault. */
  fromStory: boolean;
}

/** A volume with data, to which nothing may write. */
export interface PreparedData {
  volume: string;
  /** How long it took to make it; undefined if it was there. */
  ms: number | undefined;
}

/** Fills the volume; ends the attempt if that fails. */
type Fill = (context: SandboxContext, plan: DataPlan) => Promise<void>;

/**
 * The data for a service at a commit, which `fill` makes if there is none. What decides it is compared with the first commit of
 * the run: if a story has changed nothing of it, the tree of that commit makes it, for all runs of the repository. Otherwise that
 * of the story does, and the result is for this commit only, and after its landing for its run: `prepare` may read files that do
 * not count, and a person may still reject what the run made.
 */
export async function openPreparedData(given: SandboxContext, request: DataRequest, fill: Fill): Promise<PreparedData> {
  const context = { ...withoutLayer(given), signal: request.signal };
  const { config, worker, resources, signal } = context;
  const image = await worker.engine.imageContent(config.image);
  if (image === undefined) throw imageMissing(config.image, { engine: worker.engineName });
  const { architecture } = await worker.engineFacts();
  const first = { commit: resources.firstCommit, gitDir: resources.mirrorDir, sources: [VIEW] };
  const keyAt = async (checkout: Checkout) => {
    const { files, inputs } = await selectFiles({ ...checkout, signal }, request.service);
    const { service, user, folder } = request;
    const images = [request.image.content, image] as const;
    const { setup, env } = config;
    const parts = { service, images, architecture, user, folder, setup, env, surroundings: surroundingsOf(config) };
    const text = dataKeyText({ ...parts, files: files.map(({ path, mode, id }) => [path, mode, id]) });
    return { key: createHash('sha256').update(text).digest('hex'), inputs };
  };
  const [wanted, before] = await Promise.all([keyAt(request.checkedOut), keyAt(first)]);
  const fromStory = wanted.key !== before.key;
  const order: DataOrder = { ...wanted, ...request, tree: fromStory ? request.checkedOut : first, fromStory };
  const keeps = config.snapshot.mode !== 'off' && worker.homeId !== PROCESS_OWNED;
  return keeps ? openKept(context, order, fill) : openOwn(context, order, fill);
}

interface DataOrder extends Omit<DataRequest, 'signal'>, Omit<DataPlan, 'volume'>, Pick<Snapshot, 'inputs'> {
  key: string;
}

/** The files that count; all of them if no glob matches one. */
async function selectFiles(
  at: Parameters<typeof listFiles>[0],
  { prepareFiles }: Pick<Service, 'prepareFiles'>,
): Promise<{ files: TreeFile[]; inputs: Snapshot['inputs'] }> {
  const all = await listFiles(at, () => true);
  if (prepareFiles === undefined) return { files: all, inputs: { why: 'prepare_files is not set' } };
  const wanted = compileGlobs(prepareFiles);
  const files = all.filter(({ path }) => wanted.test(path));
  if (files.length === 0) return { files: all, inputs: { why: 'no file matches prepare_files' } };
  return { files, inputs: files.map(({ path }) => path) };
}

/** Of what this attempt alone uses, by its resources. */
const own = new WeakMap<object, Map<string, Promise<string>>>();

/** Data that is removed with the attempt, or with the check. */
async function openOwn(context: SandboxContext, order: DataOrder, fill: Fill): Promise<PreparedData> {
  const { resources } = context;
  const made = own.get(resources) ?? new Map<string, Promise<string>>();
  own.set(resources, made);
  for (let known = made.get(order.key); known !== undefined; known = made.get(order.key)) {
    const volume = await known.catch(() => undefined);
    if (volume !== undefined) return { volume, ms: undefined };
    // The command for which it was made may have been stopped.
    context.signal.throwIfAborted();
  }
  const begun = performance.now();
  const name = `data-${order.service.name}-${randomBytes(4).toString('hex')}`;
  const volume = resources.volumeName(name);
  const making = resources
    .createVolume(name, order.user)
    .then(() => fill(context, { ...order, volume }))
    .then(() => volume);
  made.set(order.key, making);
  try {
    await making;
  } catch (error) {
    made.delete(order.key);
    throw error;
  }
  return { volume, ms: elapsedSince(begun) };
}

/** Data that is a snapshot. Only one process makes it at a time. */
async function openKept(context: SandboxContext, order: DataOrder, fill: Fill): Promise<PreparedData> {
  const { worker, identity, resources, signal } = context;
  const { architecture: _, ...engine } = await worker.engineFacts();
  const { key, inputs, checkedOut, fromStory } = order;
  const { mirror } = resources;
  const query = { engine, mirror, key, settingsKey: key, inputs, runId: identity.runId, commit: checkedOut.commit };
  const onlyRun = fromStory ? identity.runId : undefined;
  resources.dataKeys.add(key);
  for (;;) {
    const found = await findUsable(context, query);
    const layer = found === undefined || found === 'refused' ? undefined : await holdEarlier(context, found, undefined);
    if (layer !== undefined) return { volume: layer.volume, ms: undefined };
    const lock = await worker.snapshots.lock({ engine, mirror, key, onlyRun }, signal);
    try {
      if ((await findUsable(context, query)) !== undefined) continue;
      const record = await makeSnapshot(context, { ...order, engine }, fill);
      await failpoint('snapshot.before');
      await worker.snapshots.publish({ mirror, record, onlyRun });
      await failpoint('snapshot.after');
      worker.inBackground(trimForAttempt(worker, trimSnapshots));
      const made = await holdLayer(context, { mirror, record, onlyRun, usedAt: worker.now() }, undefined);
      if (made !== undefined) return { volume: made.volume, ms: record.ms };
    } finally {
      await lock.release();
    }
  }
}

async function makeSnapshot(
  context: SandboxContext,
  { engine, ...order }: DataOrder & Pick<Snapshot, 'engine'>,
  fill: Fill,
): Promise<Snapshot> {
  const { worker, identity, resources } = context;
  const { service, user, key, inputs, tree } = order;
  const begun = performance.now();
  const volume = `halo-snapshot-${key.slice(0, 24)}-${randomBytes(6).toString('hex')}`;
  const announced = await worker.snapshots.announce(resources.mirror, volume);
  const over = async (work: Promise<void> | undefined) => {
    try {
      await work;
    } finally {
      await announced.release();
    }
  };
  let isWhole = false;
  // A volume that could not be removed belongs to no record: a sweep removes it.
  resources.onClose(() => over(isWhole ? undefined : worker.engine.removeVolume(volume)));
  await worker.engine.createKeptVolume(volume, { kind: 'snapshot', home: worker.homeId, user, ...resources.quota });
  await failpoint('snapshot.setup');
  await fill(context, { ...order, volume });
  const sealed = await sealData(context, { volume, user });
  isWhole = true;
  return {
    v: 1,
    engine,
    key,
    volume,
    ...sealed,
    ms: elapsedSince(begun),
    setup: [...service.prepare],
    image: service.image,
    service: { name: service.name, user },
    inputs,
    commit: tree.commit,
    run: identity.runId,
    createdAt: new Date(worker.now()).toISOString(),
  };
}

function elapsedSince(begun: number): number {
  return Math.round(performance.now() - begun);
}
