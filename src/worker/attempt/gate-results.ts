import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeAtomic } from '../../lib/atomic-write.ts';
import type { Attempt } from '../attempt-context.ts';

/** What the gates said of one commit. */
const Evidence = z.object({
  v: z.literal(1),
  /** A setup command failed, so that no gate ran. */
  setupFailed: z.boolean(),
  gates: z.array(z.object({ command: z.string(), exitCode: z.number() })),
  /** Null when no gate names its tests. */
  tests: z.array(z.object({ name: z.string(), skipped: z.boolean(), asserts: z.number().optional() })).nullable(),
});
export type Evidence = z.infer<typeof Evidence>;

/** What is known of a commit under the gates of this attempt, here or from a run before. */
export async function readEvidence(attempt: Attempt, commit: string): Promise<Evidence | undefined> {
  return readCached(await pathOf(attempt, commit));
}

/** Whether the gates named no tests the last time they ran in this repository. */
export async function wereSilent(attempt: Attempt): Promise<boolean> {
  return (await readCached(await pathOf(attempt, 'newest')))?.tests === null;
}

/** Keeps it for all runs: a story's base is mostly the commit that landed before. */
export async function keepEvidence(attempt: Attempt, commit: string, evidence: Evidence): Promise<void> {
  await mkdir(folderOf(attempt), { recursive: true, mode: 0o700 });
  const newest = { ...evidence, tests: evidence.tests === null ? null : [] };
  await writeAtomic(await pathOf(attempt, commit), JSON.stringify(evidence));
  await writeAtomic(await pathOf(attempt, 'newest'), JSON.stringify(newest));
}

/** Whatever decides how gates end is in the name, so that nothing in it goes out of date. */
async function pathOf(attempt: Attempt, commit: string): Promise<string> {
  const { config, worker, state } = attempt;
  const image = await worker.engine.imageId(config.image);
  const { gates, setup, env, tests } = config;
  const { allow, registries, upstreams } = config.network;
  const facts = [state.repo.mirror, commit, image, gates, setup, env, tests.reports, allow, registries, upstreams];
  return join(folderOf(attempt), `${createHash('sha256').update(JSON.stringify(facts)).digest('hex')}.json`);
}

function folderOf({ worker, state }: Attempt): string {
  return join(worker.home, 'repos', state.repo.mirror, 'evidence');
}

async function readCached(path: string): Promise<Evidence | undefined> {
  try {
    return Evidence.safeParse(JSON.parse(await readFile(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
