import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { needsVolume } from '../../core/engine/objects-plan.ts';
import { HaloError, isDiskFullMessage } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { findAncestor, findMergeBase, measureHistory, readBoundary } from '../../git/mirror/history.ts';
import { streamHistory } from '../../git/mirror/send-commit.ts';
import { readViewRefs } from '../../git/mirror/workspace-refs.ts';
import { readIfExists } from '../../lib/fs.ts';
import { streamOf, tailSink } from '../../lib/streams.ts';
import { HALO_IMAGE } from '../../sandbox/docker/image/image-recipe.ts';
import {
  PROCESS_OWNED,
  type Mount,
  type Sandbox,
  type SandboxLabels,
  type SandboxSpec,
} from '../../sandbox/sandbox.ts';
import { ObjectsVolumeFiles, type ObjectsVolume, type StoredObjectsVolume } from '../../store/objects-volume-files.ts';
import type { WorkerContext } from '../worker-context.ts';
import { NO_REPOSITORIES, type MountedRepositories } from '../workspace/mounted-repositories.ts';
import { KNOWN, VIEW, WORKSPACE } from '../workspace/sandbox-paths.ts';

/** What an attempt provides: see `AttemptResources`. */
interface OfAttempt {
  readonly user: number;
  readonly mirror: string;
  readonly mirrorDir: string;
  readonly candidateDir: string;
  readonly viewDir: string;
  labels(phase: string): SandboxLabels;
  volumeName(name: string): string;
  createVolume(name: string): Promise<void>;
  startSandbox(spec: SandboxSpec): Promise<Sandbox>;
  onClose(action: () => Promise<void>): void;
}

interface ObjectsRequest {
  worker: WorkerContext;
  resources: OfAttempt;
  limits: Config['limits'];
  /** The attempt, as holder of volumes. */
  holder: string;
  /** The commit that workspaces of the attempt build on. It is exposed. */
  commit: string;
  /** Stops the filling of a volume. */
  signal: AbortSignal;
}

/**
 * Opens what sandboxes mount on an engine that cannot mount folders of the host: a volume with exactly the history of the
 * commit or of an ancestor, whose objects every story on the commit may read. If too much would be missing, the engine gets
 * a new volume first: only the objects that none of its volumes of this repository has are sent. The attempt holds the volume
 * until it closes. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE, DISK_FAILED, GIT_FAILED, RUN_ABORTED.
 */
export async function openObjects(request: ObjectsRequest): Promise<MountedRepositories> {
  const { worker, resources, signal } = request;
  const files = new ObjectsVolumeFiles(worker.home, await worker.engineFacts());
  for (;;) {
    const found = await findVolume(files, request);
    if (!needsVolume(found.nearest?.record, found.missingBytes)) {
      if (found.nearest === undefined) return NO_REPOSITORIES;
      const held = await hold(files, request, found.nearest);
      if (held !== undefined) return held;
      continue;
    }
    // A check belongs to one process, so its volume does, too.
    if (worker.homeId === PROCESS_OWNED) return mountOwn(request, await fill(files, request, found.sources));
    const lock = await files.lock(resources.mirror, signal);
    try {
      const again = await findVolume(files, request);
      if (!needsVolume(again.nearest?.record, again.missingBytes)) continue;
      const filled = await fill(files, request, again.sources);
      const held = filled && (await hold(files, request, filled));
      if (held !== undefined) return held;
    } finally {
      await lock.release();
    }
  }
}

interface FoundVolumes {
  /** The nearest ancestor of the commit that has a volume. */
  nearest: StoredObjectsVolume | undefined;
  /** Size of what it lacks. */
  missingBytes: number;
  /** What the engine has of the history of the commit, to fill a new volume with. */
  sources: { stored: StoredObjectsVolume; commit: string } | undefined;
}

async function findVolume(files: ObjectsVolumeFiles, { resources, commit }: ObjectsRequest): Promise<FoundVolumes> {
  const { mirror, mirrorDir, candidateDir } = resources;
  const boundary = await readBoundary(mirrorDir);
  const stored = (await files.list(mirror))
    .filter(({ record }) => record.boundary === boundary)
    .sort((a, b) => b.usedAt - a.usedAt);
  const ancestor = await findAncestor(mirrorDir, commit, new Set(stored.map(({ record }) => record.commit)));
  const nearest = stored.find(({ record }) => record.commit === ancestor);
  const measure = (known: readonly string[]) => measureHistory({ gitDir: candidateDir, wanted: [commit], known });
  if (nearest !== undefined) {
    const missingBytes = await measure([nearest.record.commit]);
    return { nearest, missingBytes, sources: { stored: nearest, commit: nearest.record.commit } };
  }
  const [other] = stored;
  const shared = other && (await findMergeBase(mirrorDir, commit, other.record.commit));
  const sources = other === undefined || shared === undefined ? undefined : { stored: other, commit: shared };
  return { nearest: undefined, missingBytes: await measure([]), sources };
}

/** Mounts a volume until the attempt closes. Undefined if it is gone. */
async function hold(
  files: ObjectsVolumeFiles,
  { worker, resources, holder }: ObjectsRequest,
  stored: StoredObjectsVolume,
): Promise<MountedRepositories | undefined> {
  const { volume, commit, tags } = stored.record;
  const lock = await files.hold(stored, `${holder}-${randomBytes(3).toString('hex')}`);
  if (lock === undefined) return undefined;
  // The engine would create a missing volume.
  if (!(await worker.engine.hasVolume(volume))) {
    worker.log.info({ volume }, 'the volume with the objects of a repository is gone; they are sent again');
    await lock.release();
    await files.remove(stored);
    return undefined;
  }
  resources.onClose(() => lock.release());
  return { ...mountVolume(volume), known: [commit, ...tags], distrust: () => files.remove(stored) };
}

function mountOwn(request: ObjectsRequest, filled: StoredObjectsVolume | undefined): MountedRepositories {
  if (filled === undefined) return NO_REPOSITORIES;
  const { volume, tags } = filled.record;
  return { ...NO_REPOSITORIES, ...mountVolume(volume), known: [request.commit, ...tags] };
}

function mountVolume(source: string): Pick<MountedRepositories, 'mounts'> {
  return { mounts: [{ kind: 'volume', source, target: VIEW, readOnly: true, copyUp: false }] };
}

const FILL_MS = 3_600_000;
const MAX_OUTPUT = 1_000_000;
const MIB = 1024 * 1024;

/**
 * Fills a new volume with the history of the commit, and publishes it unless it belongs to this process. `sources`: what the
 * engine has of it. Undefined if the engine could not read that: then its record is removed.
 */
async function fill(
  files: ObjectsVolumeFiles,
  request: ObjectsRequest,
  sources: FoundVolumes['sources'],
): Promise<StoredObjectsVolume | undefined> {
  const { worker, resources, limits, commit, signal } = request;
  const { mirror, mirrorDir, candidateDir, viewDir, user } = resources;
  const isOwn = worker.homeId === PROCESS_OWNED;
  const volume = isOwn ? resources.volumeName('objects') : newVolumeName(commit);
  const isPublished = { yes: false };
  if (!isOwn) {
    const announced = await files.announce(mirror, volume);
    resources.onClose(async () => {
      if (!isPublished.yes) await worker.engine.removeVolume(volume);
      await announced.release();
    });
  }
  const source = sources && (await files.hold(sources.stored, `fill-${randomBytes(3).toString('hex')}`));
  try {
    const known =
      source && sources && (await worker.engine.hasVolume(sources.stored.record.volume)) ? sources : undefined;
    const wanted = [commit, ...(await readViewRefs(viewDir)).tags];
    const [shallow = '', boundary, bytes] = await Promise.all([
      readIfExists(join(viewDir, 'shallow')),
      readBoundary(mirrorDir),
      measureHistory({ gitDir: candidateDir, wanted, known: [] }),
    ]);
    if (isOwn) await resources.createVolume('objects');
    else await worker.engine.createKeptVolume(volume, { kind: 'objects', home: worker.homeId, user });
    const sandbox = await resources.startSandbox({
      image: HALO_IMAGE,
      labels: resources.labels('objects'),
      user,
      workdir: '/tmp',
      env: {},
      mounts: [
        { kind: 'volume', source: volume, target: WORKSPACE, readOnly: false, copyUp: true },
        ...(known === undefined ? [] : [mountKnown(known.stored.record.volume)]),
      ],
      limits: { ...limits, fileBytes: 4 * bytes + 1024 * MIB, diskBytes: 8 * bytes + 1024 * MIB },
    });
    const pack = await streamHistory({ gitDir: candidateDir, wanted, known: known ? [known.commit] : [], signal });
    const stderr = tailSink(2_000);
    const stdout = tailSink(2_000);
    const exit = await sandbox.run({
      script: fillScript({ wanted, shallowBytes: Buffer.byteLength(shallow), isKnown: known !== undefined }),
      stdin: streamOf([shallow], pack),
      stdout: stdout.sink,
      stderr: stderr.sink,
      outputBytes: MAX_OUTPUT,
      wallMs: FILL_MS,
      idleMs: FILL_MS,
      signal,
    });
    worker.inBackground(sandbox.remove());
    signal.throwIfAborted();
    if (exit.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The transfer to the engine was stopped.');
    if (exit.exitCode !== 0) {
      const why = safeLine(stderr.text().trim().split('\n').at(-1) ?? exit.ended);
      const isFull = exit.ended !== 'exited' || isDiskFullMessage(why);
      if (!isFull && known !== undefined) {
        worker.log.warn(
          { volume: known.stored.record.volume, why },
          'a volume with objects is damaged; they are sent again',
        );
        await files.remove(known.stored);
        return undefined;
      }
      throw new HaloError(
        isFull ? 'DISK_FAILED' : 'DOCKER_FAILED',
        `The engine could not store the objects of the repository: ${why}.`,
        {
          hint: 'Check the disk of the engine and the connection to it.',
        },
      );
    }
    const record: ObjectsVolume = {
      v: 1,
      engine: worker.engineName,
      volume,
      commit,
      tags: wanted.slice(1),
      boundary,
      bytes,
      createdAt: new Date(worker.now()).toISOString(),
    };
    if (!isOwn) {
      await files.publish(mirror, record);
      isPublished.yes = true;
    }
    return { mirror, record, usedAt: worker.now() };
  } finally {
    await source?.release();
  }
}

function newVolumeName(commit: string): string {
  return `halo-objects-${commit.slice(0, 24)}-${randomBytes(6).toString('hex')}`;
}

function mountKnown(source: string): Mount {
  return { kind: 'volume', source, target: KNOWN, readOnly: true, copyUp: false };
}

interface FillScript {
  /** What the volume has in the end, with all that it reaches. */
  wanted: readonly string[];
  /** Size of the file `shallow`, which comes before the pack. */
  shallowBytes: number;
  /** Whether the pack is thin, and KNOWN has the other objects. */
  isKnown: boolean;
}

/** The volume gets one pack. */
export function fillScript({ wanted, shallowBytes, isKnown }: FillScript): string {
  const format = wanted[0]?.length === 64 ? ' --object-format=sha256' : '';
  return [
    'set -e',
    `cd ${WORKSPACE}`,
    `git init -q --bare --template=${format} incoming`,
    'mkdir -p objects/info objects/pack incoming/objects/info',
    ...(isKnown ? [`echo ${KNOWN}/objects > incoming/objects/info/alternates`] : []),
    ...(shallowBytes > 0 ? [`head -c ${shallowBytes} > incoming/shallow`] : []),
    'git --git-dir=incoming index-pack --stdin --fix-thin > /dev/null',
    ...(isKnown ? repack(wanted) : ['mv incoming/objects/pack/* objects/pack/']),
    'rm -rf incoming',
    'sync -f .',
  ].join('\n');
}

/** What else KNOWN has, such as another branch, is not copied. */
function repack(wanted: readonly string[]): string[] {
  return [
    `printf '%s\\n' ${wanted.join(' ')} > /tmp/wanted`,
    'git --git-dir=incoming pack-objects --revs -q --delta-base-offset objects/pack/pack < /tmp/wanted > /dev/null',
  ];
}
