import { pino } from 'pino';
import type { Host } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { inspectRepo } from '../../git/repository/inspect-repo.ts';
import { readHomeId } from '../../queue/redis/connect-redis.ts';
import { createIdleContext } from '../../worker/create-worker-context.ts';
import { prepareSnapshot, type PreparedSnapshot } from '../../worker/snapshot/prepare-snapshot.ts';
import { readConfig } from '../repository/repo-config.ts';

interface BuildQuery {
  /** Any folder of a checkout, absolute. */
  folder: string;
  profile: string | undefined;
  /** `key=value` */
  set: string[];
  signal: AbortSignal;
  onOutput: (bytes: Uint8Array) => Promise<void>;
}

/** A snapshot of the checked-out commit. */
interface BuiltSnapshot extends PreparedSnapshot {
  repo: string;
  commit: string;
}

/**
 * Makes the snapshot of the checked-out commit on this machine, so that the first story does not wait for setup. Throws
 * NOT_A_GIT_REPO, NO_COMMITS, CONFIG_INVALID, IMAGE_MISSING, RUN_ABORTED.
 */
export async function buildRepositorySnapshot(host: Host, query: BuildQuery): Promise<BuiltSnapshot> {
  const { folder, profile, set, signal, onOutput } = query;
  const { root, gitDir, head } = await inspectRepo(folder);
  const { config } = await readConfig({ host, folder: root, profile, set });
  if (config.setup.length === 0)
    throw new HaloError('CONFIG_INVALID', `${root} has no setup, so there is nothing to keep.`, {
      hint: 'Set `setup` in halo.toml, for example setup = ["npm ci"].',
    });
  if (config.snapshot.mode === 'off')
    throw new HaloError('CONFIG_INVALID', `Snapshots are off in ${root}.`, { hint: 'Remove snapshot.mode = "off".' });
  const cleaning = new Set<Promise<void>>();
  const worker = createIdleContext({ host, log: pino({ level: 'silent' }), cleaning });
  try {
    if ((await worker.engine.imageId(config.image)) === undefined)
      throw new HaloError('IMAGE_MISSING', `The image ${config.image} does not exist on this machine.`);
    const request = { gitDir, commit: head, config, homeId: await readHomeId(host.home), signal, onOutput };
    return { repo: root, commit: head, ...(await prepareSnapshot(worker, request)) };
  } finally {
    await Promise.allSettled(cleaning);
  }
}
