import { createHash, randomBytes } from 'node:crypto';
import type { Host } from '../../config/config.ts';
import { withHint, type HaloError } from '../../core/failure/errors.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import type { Prd, PrdFile } from '../../core/prd/prd.ts';
import { transcribe } from '../../core/transcript/transcript.ts';
import { diffCheckout, inspectRepo } from '../../git/repository/inspect-repo.ts';
import { stripCredentials } from '../../core/text/address-credentials.ts';
import { isUrl, mirrorName } from '../../git/repository/repo-url.ts';
import { newRunId } from '../../lib/run-id.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { haloVersion } from '../../lib/version.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { openStore } from '../../store/store.ts';
import { gitStatusText } from '../../worker/run/end-run.ts';
import { readConfig } from '../repository/repo-config.ts';
import { userName } from './user-name.ts';

/** A run that was refused at submit, with the error. */
export interface RefusedRun {
  /** Determines the stop reason. */
  error: HaloError;
  /** Absolute path or URL. */
  repo: string;
  prdPath: string;
  /** Absent if the file could not be read. */
  prd: PrdFile | undefined;
  profile: string | undefined;
  set: string[];
}

interface RefusalContext {
  host: Host;
  args: readonly string[];
  masker: Masker;
}

const DIFF_BYTES = 1024 * 1024;

/**
 * Stores a refused run as a run that has ended: a run directory with the known facts, the stop reason and a debug bundle.
 * Returns the directory. Throws DISK_FAILED.
 */
export async function recordRefusedRun({ host, args, masker }: RefusalContext, refusal: RefusedRun): Promise<string> {
  const { error, repo, profile, set } = refusal;
  const store = openStore(host.home, { transcribe, masker });
  const runId = newRunId(new Date(), randomBytes);
  const [place, config] = await Promise.all([
    resolveRepo(repo),
    readConfig({ host, folder: repo, profile, set }).then(
      (resolved) => resolved.config,
      () => undefined,
    ),
  ]);
  const end = { stopReason: error.stopReason ?? 'UNKNOWN_ERROR', detail: withHint(error) };
  await store.createEnded(
    {
      type: 'run.created',
      runId,
      repo: place,
      prdPath: refusal.prdPath,
      prd: readWhatIsThere(refusal.prd),
      prdIsHere: false,
      attempts: config?.retry.attempts ?? 1,
      parallel: 1,
      onFailure: 'stop',
      priority: 0,
      user: userName(),
      refused: true,
    },
    { type: 'run.ended', ...end },
    { haloVersion: haloVersion(), agent: { name: config?.agent ?? null }, args, config: config ?? {} },
  );
  const gitDiff = await diffCheckout(repo, DIFF_BYTES).catch(() => '');
  await store.writeDebugBundle(runId, {
    end,
    gitStatus: await gitStatusText({ source: repo }),
    ...(gitDiff === '' ? {} : { gitDiff }),
  });
  return store.runFolder(runId);
}

/** The repository, as far as it can be inspected: it may be the cause of the refusal. */
async function resolveRepo(source: string): Promise<RunRepo> {
  const nothing = { branch: undefined, base: '' };
  if (isUrl(source)) return { source: stripCredentials(source), mirror: mirrorName(source), ...nothing };
  try {
    const { root, gitDir, branch, head } = await inspectRepo(source);
    return { source: root, mirror: mirrorName(gitDir), branch, base: head };
  } catch {
    return { source: stripCredentials(source), mirror: mirrorName(source), ...nothing };
  }
}

/** A PRD that cannot be read has no stories, and its hash only if it has bytes. */
function readWhatIsThere(file: PrdFile | undefined): Prd {
  const nothing = { project: '', description: '', context: [], stories: [], warnings: [], specHash: '' };
  if (file === undefined) return { dialect: 'hanuman', ...nothing, hash: '' };
  try {
    return parsePrd(file.bytes, file.path);
  } catch {
    return { dialect: 'hanuman', ...nothing, hash: createHash('sha256').update(file.bytes).digest('hex') };
  }
}
