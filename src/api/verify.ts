import { join } from 'node:path';
import { pino } from 'pino';
import type { Host } from '../config/config.ts';
import { processEnv } from '../config/host.ts';
import { readConfigFile } from '../config/load.ts';
import { resolveConfig } from '../config/resolve.ts';
import { HaloError } from '../core/errors.ts';
import { parseProof, type Proof } from '../core/proof.ts';
import { transcribe } from '../core/transcript.ts';
import { tryGit } from '../git/git.ts';
import { readNote } from '../git/notes.ts';
import { isObjectId } from '../git/object-id.ts';
import { inspectRepo } from '../git/repo.ts';
import { openStore, type Store } from '../store/store.ts';
import { hostGitDirOf } from '../worker/host-repo.ts';
import { readProof } from '../worker/keep-proof.ts';
import { openIdle } from '../worker/open-context.ts';
import type { Check } from '../worker/check.ts';
import { verifyProof } from '../worker/verify-proof.ts';

export interface VerifyQuery {
  /** A run, the start of its id, or a commit in any spelling that git knows. */
  target: string;
  /** Where a commit is looked for. */
  folder: string;
  signal: AbortSignal;
}

/** What became of one landed commit. */
export interface Verified {
  commit: string;
  story: string;
  checks: Check[];
}

interface Landed {
  commit: string;
  gitDir: string;
  /** From the run directory, where there is one. */
  kept: Proof | undefined;
}

/**
 * Holds landed commits against their records and proves them again on this machine, one after the other.
 * Throws RUN_NOT_FOUND for what is neither run nor commit, IMAGE_MISSING.
 */
export async function* verify(host: Host, { target, folder, signal }: VerifyQuery): AsyncGenerator<Verified> {
  const cleaning = new Set<Promise<void>>();
  const worker = openIdle({ host, log: pino({ level: 'silent' }), cleaning });
  const home = await readConfigFile(join(host.home, 'config.toml'));
  const { config } = resolveConfig({ home, env: processEnv(), cwd: folder });
  try {
    for (const { commit, gitDir, kept } of await findLanded(openStore(host.home, { transcribe }), host.home, {
      target,
      folder,
    })) {
      const note = await readNote(gitDir, commit);
      const noted = note === undefined ? undefined : parseProof(note);
      const proof = kept ?? noted;
      if (proof === undefined) {
        const found = note === undefined ? 'none' : 'not readable';
        yield { commit, story: '-', checks: [{ what: 'record', recorded: 'a note of halo', found, ok: false }] };
        continue;
      }
      const same = kept === undefined || JSON.stringify(kept) === JSON.stringify(noted);
      const record = {
        what: 'record',
        recorded: 'note as in the run directory',
        found: same ? 'the same' : noted === undefined ? 'no note' : 'differs',
        ok: same,
      };
      const first = kept === undefined ? [] : [record];
      yield {
        commit,
        story: proof.story.id,
        checks: [...first, ...(await verifyProof(worker, { proof, commit, gitDir, config, signal }))],
      };
    }
  } finally {
    await Promise.allSettled(cleaning);
  }
}

async function findLanded(
  store: Store,
  home: string,
  { target, folder }: Omit<VerifyQuery, 'signal'>,
): Promise<Landed[]> {
  const runId = isObjectId(target)
    ? undefined
    : await store.find(target).catch((error: unknown) => {
        if (error instanceof HaloError && error.code === 'RUN_NOT_FOUND') return undefined;
        throw error;
      });
  if (runId === undefined) return [await findCommit(target, folder)];
  const { repo, stories } = await store.readState(runId);
  const gitDir = await hostGitDirOf(home, repo);
  const landed = stories.flatMap(({ key, attempts, commit }) =>
    commit === undefined ? [] : [{ key, attempts, commit }],
  );
  if (landed.length === 0)
    throw new HaloError('RUN_NOT_FOUND', `Run ${runId} has landed nothing that could be verified.`);
  return Promise.all(
    landed.map(async ({ key, attempts, commit }) => {
      const place = { runId, storyKey: key, attempt: Math.max(1, attempts) };
      return { commit, gitDir, kept: await readProof(store, place, commit) };
    }),
  );
}

async function findCommit(target: string, folder: string): Promise<Landed> {
  const { gitDir } = await inspectRepo(folder);
  const found = await tryGit(['rev-parse', '--quiet', '--verify', '--end-of-options', `${target}^{commit}`], {
    gitDir,
  });
  const commit = found.stdout.toString('latin1').trim();
  if (isObjectId(commit)) return { commit, gitDir, kept: undefined };
  throw new HaloError('RUN_NOT_FOUND', `${JSON.stringify(target)} is neither a run nor a commit of ${folder}.`, {
    hint: '`halo ls` lists all runs; commits are looked for in --repo.',
  });
}
