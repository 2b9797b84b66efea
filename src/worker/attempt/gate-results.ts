import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createFolders, writeAtomic } from '../../lib/fs.ts';
import type { Attempt } from './open-attempt.ts';

/** The results of the gates on one commit. */
const GateResults = z.object({
  v: z.literal(1),
  /** A setup command failed, so no gate ran. */
  setupFailed: z.boolean(),
  gates: z.array(z.object({ command: z.string(), exitCode: z.number() })),
  /** Null if no gate reports its tests. */
  tests: z.array(z.object({ name: z.string(), skipped: z.boolean(), asserts: z.number().optional() })).nullable(),
});
export type GateResults = z.infer<typeof GateResults>;

/** The cached results of a commit under the gates of this attempt. */
export async function readGateResults(attempt: Attempt, commit: string): Promise<GateResults | undefined> {
  return readCached(await pathOf(attempt, commit));
}

/** Whether the gates reported no tests the last time they ran in this repository. */
export async function lastReportedNoTests(attempt: Attempt): Promise<boolean> {
  return (await readCached(await pathOf(attempt, 'newest')))?.tests === null;
}

/** Caches results for all runs. A story's base is usually the commit that landed before it. */
export async function saveGateResults(attempt: Attempt, commit: string, results: GateResults): Promise<void> {
  await createFolders(folderOf(attempt), 0o700);
  const newest = { ...results, tests: results.tests === null ? null : [] };
  await writeAtomic(await pathOf(attempt, commit), JSON.stringify(results));
  await writeAtomic(await pathOf(attempt, 'newest'), JSON.stringify(newest));
}

/** The name is a hash of everything that affects the gates, so entries never become stale. */
async function pathOf(attempt: Attempt, commit: string): Promise<string> {
  const { config, worker, inputs } = attempt;
  const { mirror } = inputs.state.repo;
  const image = await worker.engine.imageId(config.image);
  const { gates, setup, env, tests } = config;
  const { allow, registries, upstreams, scopes } = config.network;
  const facts = [mirror, commit, image, gates, setup, env, tests.reports, allow, registries, upstreams, scopes];
  return join(folderOf(attempt), `${createHash('sha256').update(JSON.stringify(facts)).digest('hex')}.json`);
}

function folderOf({ worker, inputs }: Attempt): string {
  return join(worker.home, 'repos', inputs.state.repo.mirror, 'evidence');
}

async function readCached(path: string): Promise<GateResults | undefined> {
  try {
    return GateResults.safeParse(JSON.parse(await readFile(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
