import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { applyDefaults } from '../../../config/apply-defaults.ts';
import type { Config, Host } from '../../../config/config.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { readProofText } from '../../../core/review/proof.ts';
import { transcribe } from '../../../core/transcript/transcript.ts';
import { MESSAGE_LOG_ARGS, readTrailers } from '../../../git/commit/commit-message.ts';
import { gitText, tryGit } from '../../../git/process/git.ts';
import { readNote, type Note } from '../../../git/commit/notes.ts';
import { isObjectId } from '../../../git/process/git-output.ts';
import { inspectRepo, readFileAt } from '../../../git/repository/inspect-repo.ts';
import { RUN_ID } from '../../../lib/run-id.ts';
import { exceedsJsonLimits } from '../../../lib/parse-json.ts';
import { openStore, type Store } from '../../../store/store.ts';
import { compareFact, type FactCheck } from '../worker/compare-proof.ts';
import { checkSignatures, findSigners } from '../worker/check-signatures.ts';
import { hostGitDirOf } from '../../../worker/repository/host-repository.ts';
import { readStoredProofText } from '../../../worker/proof/proof-files.ts';
import { hasSettings } from '../../../worker/run/read-run.ts';
import { createIdleContext } from '../../../worker/create-worker-context.ts';
import { verifyProof } from '../worker/verify-proof.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { processEnv } from '../../../config/environment/host.ts';
import { parseConfigFile, type ConfigFile } from '../../../config/load/config-file.ts';
import { readHomeFiles } from '../../../config/load/home-files.ts';
import { resolveConfig } from '../../../config/resolve.ts';
import { readParents } from '../../../git/commit/read-commits.ts';

interface VerifyQuery {
  /** A run, a part of its id, or a commit in any form that git accepts. */
  target: string;
  /** The repository in which to look for a commit. */
  folder: string;
  /** Whether to use settings of a proof that nothing on this machine confirms. */
  trustProof?: boolean;
  signal: AbortSignal;
}

/** The result for one landed commit. */
export interface Verified {
  commit: string;
  story: string;
  checks: FactCheck[];
  /** Limitations of a good result, each as the end of a sentence. */
  remarks: string[];
}

/** A landed commit, and the data of its run if this machine has it. */
interface Landed {
  commit: string;
  gitDir: string;
  own?: { config: Config; imageId: string | undefined; proofText: string | undefined };
}

/**
 * Compares landed commits with their proofs and runs their gates again on this machine, one commit after the other. A proof
 * is trusted as far as the run directory, a signature or the configuration of the commit's base confirms it.
 * Throws RUN_NOT_FOUND for what is neither run nor commit, USAGE for what is both, IMAGE_MISSING, CONFIG_INVALID.
 */
export async function* verify(host: Host, query: VerifyQuery): AsyncGenerator<Verified> {
  const cleaning = new Set<Promise<void>>();
  const worker = createIdleContext({ host, log: pino({ level: 'silent' }), cleaning });
  const scratch = await mkdtemp(join(tmpdir(), 'halo-verify-'));
  try {
    for (const landed of await findLanded(openStore(host.home, { transcribe }), host.home, query))
      yield await verifyCommit(worker, landed, { ...query, host, scratch });
  } finally {
    await Promise.allSettled(cleaning);
    await rm(scratch, { recursive: true, force: true });
  }
}

async function verifyCommit(
  worker: WorkerContext,
  { commit, gitDir, own }: Landed,
  { folder, trustProof = false, signal, host, scratch }: VerifyQuery & { host: Host; scratch: string },
): Promise<Verified> {
  const note = await readNote(gitDir, commit);
  const kept = readProofText(own?.proofText ?? '').proof;
  const read = kept?.commit === commit ? { proof: kept } : readNoted(note);
  if (read.proof === undefined) {
    const row = { what: 'proof', recorded: 'a note in refs/notes/halo', found: read.fault, ok: false };
    return { commit, story: '-', checks: [row], remarks: [] };
  }
  const { proof } = read;
  const compared = proof === kept ? [compareTexts(own?.proofText, note)] : [];
  const expected = await expectSettings(host, { gitDir, commit, folder });
  const signers = await findSigners(signingOf(expected.config, own?.config), scratch);
  const signatures = await checkSignatures({ gitDir, commit, note, signers });
  const reference =
    own === undefined
      ? { ...expected, imageId: await worker.engine.imageId(expected.config.image) }
      : { origin: 'run.json', config: own.config, imageId: kept?.image.id ?? own.imageId };
  const proven = await verifyProof(worker, { proof, commit, gitDir, reference, trustProof, signal });
  const taken = proven.filter(({ ok }) => ok === null).length;
  const remarks = [
    ...signatures.filter(({ ok }) => ok === null).map(({ found }) => found),
    ...(trustProof && taken > 0 ? [`settings that differ (${taken}) are taken from the proof`] : []),
  ];
  return { commit, story: proof.story.id, checks: [...compared, ...signatures, ...proven], remarks };
}

function readNoted(note: Note | undefined): ReturnType<typeof readProofText> {
  if (note === undefined) return { fault: 'none' };
  return note.text === undefined || exceedsJsonLimits(note.text)
    ? { fault: 'far too large' }
    : readProofText(note.text);
}

function compareTexts(kept: string | undefined, note: Note | undefined): FactCheck {
  const row = compareFact('proof', kept?.trim() ?? '', note?.text?.trim() ?? '');
  const found = row.ok === true ? 'the same' : note === undefined ? 'no note' : 'differs';
  return { ...row, recorded: 'note as in the run directory', found };
}

/** How commit and proof must be signed: by the settings of this machine and, if it has the run, those of the run. */
function signingOf({ git: now }: Config, own: Config | undefined): Config['git'] {
  if (own === undefined) return now;
  const { git } = own;
  if (git.sign === 'no') return { ...git, allowedSigners: undefined };
  return { ...git, allowedSigners: now.allowedSigners ?? git.allowedSigners };
}

async function findLanded(store: Store, home: string, { target, folder }: VerifyQuery): Promise<Landed[]> {
  const runId = isObjectId(target) ? undefined : await store.find(target).catch(unlessMissing);
  const found = await findCommit(target, folder).catch((error: unknown) => {
    if (runId === undefined) throw error;
    return undefined;
  });
  if (runId !== undefined && found !== undefined) {
    throw new HaloError('USAGE', `${JSON.stringify(target)} is run ${runId} and commit ${found.commit.slice(0, 12)}.`, {
      hint: 'Use the complete id of one of them.',
    });
  }
  if (runId !== undefined) return findRunCommits(store, home, runId);
  if (found !== undefined) return [{ ...found, ...(await resolveOwn(store, found)) }];
  throw new HaloError('RUN_NOT_FOUND', `${JSON.stringify(target)} is neither a run nor a commit of ${folder}.`, {
    hint: 'Run `halo ls` to list all runs, or set --repo to the repository of the commit.',
  });
}

async function findRunCommits(store: Store, home: string, runId: string): Promise<Landed[]> {
  const { repo, stories } = await store.readState(runId);
  const gitDir = await hostGitDirOf(home, repo);
  const commits = stories.flatMap(({ commit }) => commit ?? []);
  if (commits.length === 0)
    throw new HaloError('RUN_NOT_FOUND', `No story of run ${runId} has a commit that could be verified.`);
  return Promise.all(commits.map(async (commit) => ({ commit, gitDir, ...(await readOwn(store, runId, commit)) })));
}

async function findCommit(target: string, folder: string): Promise<Pick<Landed, 'commit' | 'gitDir'> | undefined> {
  const { gitDir } = await inspectRepo(folder);
  const found = await tryGit(['rev-parse', '--quiet', '--verify', '--end-of-options', `${target}^{commit}`], {
    gitDir,
  });
  const commit = found.stdout.toString('latin1').trim();
  return isObjectId(commit) ? { commit, gitDir } : undefined;
}

/** The run on this machine that landed a commit. The trailer of the commit names it, but only the run is trusted. */
async function resolveOwn(
  store: Store,
  { commit, gitDir }: Pick<Landed, 'commit' | 'gitDir'>,
): Promise<Pick<Landed, 'own'>> {
  const message = await gitText(['log', '-1', ...MESSAGE_LOG_ARGS, commit], { gitDir });
  const runId = readTrailers(message.replaceAll('\0', '')).get('Halo-Run') ?? '';
  return RUN_ID.test(runId) ? readOwn(store, runId, commit).catch(unlessUnreadable) : {};
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof HaloError && error.code === 'RUN_NOT_FOUND') return undefined;
  throw error;
}

/** If the run is missing or damaged, the commit is treated like one of another machine. */
function unlessUnreadable(error: unknown): Pick<Landed, 'own'> {
  if (error instanceof HaloError && ['RUN_NOT_FOUND', 'RUN_UNREADABLE'].includes(error.code)) return {};
  throw error;
}

/** The data of a landed commit in the run directory; none if the run has lost its settings. */
async function readOwn(store: Store, runId: string, commit: string): Promise<Pick<Landed, 'own'>> {
  const [events, state, { config }] = await Promise.all([
    store.readJournal(runId),
    store.readState(runId),
    store.readRecord(runId),
  ]);
  const story = state.stories.find((each) => each.commit === commit);
  if (story === undefined || !hasSettings(config)) return {};
  const attempt = Math.max(1, story.attempts);
  const started = events.findLast(
    (event): event is Started =>
      event.type === 'story.started' && event.story === story.id && event.attempt === attempt,
  );
  const proofText = await readStoredProofText(store, { runId, storyKey: story.key, attempt });
  return { own: { config: applyDefaults(config), imageId: started?.image, proofText } };
}

type Started = JournalEvent & { type: 'story.started' };

/** The configuration that the run of a commit should have had, as far as this machine knows. */
interface Expected {
  origin: string;
  config: Config;
  /** Why the file of the base commit is ignored. */
  fault?: string;
}

/**
 * The settings that a run from the base of a commit would have on this machine: `config.toml`, the configuration file in that
 * base, and variables. Throws CONFIG_INVALID if the settings of this machine are invalid.
 */
async function expectSettings(
  host: Host,
  { gitDir, commit, folder }: { gitDir: string; commit: string; folder: string },
): Promise<Expected> {
  const own = { ...(await readHomeFiles(host.home)), env: processEnv(), cwd: folder };
  const origin = 'halo.toml';
  try {
    const repo = await readRepoConfigAt(gitDir, (await readParents(gitDir, commit))[0]);
    return { origin, config: resolveConfig({ ...own, repo }).config };
  } catch (error) {
    if (!(error instanceof HaloError) || error.code !== 'CONFIG_INVALID') throw error;
    return { origin, config: resolveConfig(own).config, fault: error.message };
  }
}

/** Reads the configuration file in a commit. Throws CONFIG_INVALID, and GIT_FAILED if it is too large. */
async function readRepoConfigAt(gitDir: string, commit: string | undefined): Promise<ConfigFile | undefined> {
  if (commit === undefined) return undefined;
  const files = ['halo.toml', '.halo/config.toml'].map(async (path) => {
    const text = await readFileAt({ gitDir, commit, path, maxBytes: 1024 * 1024 });
    return text === undefined ? [] : [parseConfigFile(`${commit.slice(0, 12)}:${path}`, text)];
  });
  const [first, second] = (await Promise.all(files)).flat();
  if (second !== undefined) throw new HaloError('CONFIG_INVALID', 'The base commit has two configuration files.');
  return first;
}
