import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { createFolders, writeAtomic } from '../../lib/fs.ts';
import type { Attempt } from './open-attempt.ts';

/** The results of the gates on one commit. */
const GateResults = z.object({
  v: z.literal(1),
  /** A setup command failed, so no gate ran. */
  setupFailed: z.boolean(),
  gates: z.array(
    z.object({
      command: z.string(),
      exitCode: z.number(),
      /** If it failed. */
      sign: z.string().optional(),
    }),
  ),
  /** Null if no gate reports its tests. */
  tests: z.array(z.object({ name: z.string(), skipped: z.boolean(), asserts: z.number().optional() })).nullable(),
  /** Why reports could not be read. */
  unread: z.array(z.string()).optional(),
});
export type GateResults = z.infer<typeof GateResults>;

/** The cached results of the gates of this attempt. */
export async function openGateResults({ worker, config, inputs }: Attempt): Promise<GateResultFiles> {
  const image = await worker.engine.imageId(config.image);
  return new GateResultFiles(worker.home, config, { mirror: inputs.state.repo.mirror, image });
}

/** Where gates run: the repository, and the content address of the image. */
interface GateEnvironment {
  mirror: string;
  image: string | undefined;
}

/** The results of the gates of a configuration, for all runs, by commit. A damaged file counts as missing. */
export class GateResultFiles {
  private readonly folder: string;
  private readonly config: Config;
  private readonly environment: GateEnvironment;

  constructor(home: string, config: Config, environment: GateEnvironment) {
    this.folder = join(home, 'repos', environment.mirror, 'evidence');
    this.config = config;
    this.environment = environment;
  }

  read(commit: string): Promise<GateResults | undefined> {
    return readCached(this.path(commit));
  }

  /** Whether the gates reported no tests the last time they ran in this repository. */
  async lastReportedNoTests(): Promise<boolean> {
    return (await readCached(this.path(NEWEST)))?.tests === null;
  }

  /** A story's base is usually the commit that landed before it. */
  async save(commit: string, results: GateResults): Promise<void> {
    await createFolders(this.folder, 0o700);
    const newest = { ...results, tests: results.tests === null ? null : [] };
    await writeAtomic(this.path(commit), JSON.stringify(results));
    await writeAtomic(this.path(NEWEST), JSON.stringify(newest));
  }

  /** Removes the results of a commit, because they are not about it alone. */
  async forget(commit: string): Promise<void> {
    await rm(this.path(commit), { force: true });
  }

  private path(commit: string): string {
    return join(this.folder, `${gateResultsKey(this.config, { ...this.environment, commit })}.json`);
  }
}

const NEWEST = 'newest';

/** A hash of everything that affects the gates, so that entries never become stale. */
export function gateResultsKey(
  { gates, setup, env, tests, network, limits, sandbox, snapshot }: Config,
  { mirror, commit, image }: GateEnvironment & { commit: string },
): string {
  const { channel: _, agentRegistries: _agent, cacheBytes: _cache, ...reachable } = network;
  const facts = [mirror, commit, image, gates, setup, env, tests.reports, reachable, limits, sandbox, snapshot.inputs];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

async function readCached(path: string): Promise<GateResults | undefined> {
  try {
    return GateResults.safeParse(JSON.parse(await readFile(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
