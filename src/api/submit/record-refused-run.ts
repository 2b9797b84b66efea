import { createHash, randomBytes } from 'node:crypto';
import type { Host } from '../../config/config.ts';
import { withHint, type HaloError } from '../../core/failure/errors.ts';
import type { RunRepo } from '../../core/journal/events.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { transcribe } from '../../core/transcript/transcript.ts';
import { diffCheckout, inspectRepo } from '../../git/repository/inspect-repo.ts';
import { withoutCredentialsIn } from '../../core/address-credentials.ts';
import { isUrl, mirrorName } from '../../git/repository/repo-url.ts';
import { newRunId } from '../../lib/run-id.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { version } from '../../lib/version.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { openStore } from '../../store/store.ts';
import { describeCheckout } from '../../worker/describe-checkout.ts';
import type { PrdBytes } from '../operations.ts';
import { readConfig } from '../repository/repo-config.ts';
import { userName } from '../user-name.ts';

/** A run that was asked for, and what it was refused with. */
export interface Refusal {
  /** Stands for a stop reason. */
  error: HaloError;
  /** Absolute path or URL. */
  repo: string;
  prdPath: string;
  /** Absent when the file could not be read. */
  prd: PrdBytes | undefined;
  profile: string | undefined;
  set: string[];
}

export interface RefusalContext {
  host: Host;
  args: readonly string[];
  masker: Masker;
}

const DIFF_BYTES = 1024 * 1024;

/**
 * Keeps a refused run as a run that has ended: a directory with all that is known, the stop reason and a debug bundle.
 * Answers with the directory. Throws DISK_FAILED.
 */
export async function keepRefusal({ host, args, masker }: RefusalContext, refusal: Refusal): Promise<string> {
  const { error, repo, profile, set } = refusal;
  const store = openStore(host.home, { transcribe, masker });
  const runId = newRunId(new Date(), randomBytes);
  const [place, config] = await Promise.all([
    findRepo(repo),
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
      attempts: config?.retry.attempts ?? 1,
      user: userName(),
      refused: true,
    },
    { type: 'run.ended', ...end },
    { haloVersion: version(), agent: { name: config?.agent ?? null }, args, config: config ?? {} },
  );
  const gitDiff = await diffCheckout(repo, DIFF_BYTES).catch(() => '');
  await store.writeDebugBundle(runId, {
    end,
    gitStatus: await describeCheckout(repo),
    ...(gitDiff === '' ? {} : { gitDiff }),
  });
  return store.runFolder(runId);
}

/** As far as it can be found: what is wrong may be the repository itself. */
async function findRepo(source: string): Promise<RunRepo> {
  const nothing = { branch: undefined, base: '' };
  if (isUrl(source)) return { source: withoutCredentialsIn(source), mirror: mirrorName(source), ...nothing };
  try {
    const { root, gitDir, branch, head } = await inspectRepo(source);
    return { source: root, mirror: mirrorName(gitDir), branch, base: head };
  } catch {
    return { source: withoutCredentialsIn(source), mirror: mirrorName(source), ...nothing };
  }
}

/** A PRD that cannot be read is one without stories, known by the hash of its bytes at most. */
function readWhatIsThere(file: PrdBytes | undefined): Prd {
  const nothing = { project: '', description: '', stories: [], warnings: [], specHash: '' };
  if (file === undefined) return { dialect: 'hanuman', ...nothing, hash: '' };
  try {
    return parsePrd(file.bytes, file.path);
  } catch {
    return { dialect: 'hanuman', ...nothing, hash: createHash('sha256').update(file.bytes).digest('hex') };
  }
}
