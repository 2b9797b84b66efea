import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Host } from '../../../config/config.ts';
import type { Env } from '../../../config/environment/host.ts';
import { readHomeFiles } from '../../../config/load/home-files.ts';
import { resolveConfig } from '../../../config/resolve.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { readProofText } from '../../../core/review/proof.ts';
import { MESSAGE_LOG_ARGS, readTrailers } from '../../../git/commit/commit-message.ts';
import { readNotesAt, type Note } from '../../../git/commit/notes.ts';
import {
  listPushed,
  listRange,
  parsePushedRefs,
  quarantineOf,
  type CommitsToCheck,
} from '../../../git/commit/pushed-commits.ts';
import { gitText } from '../../../git/process/git.ts';
import { requireGitDir } from '../../../git/repository/inspect-repo.ts';
import { checkSignatures, findSigners } from '../worker/check-signatures.ts';

/** Which commits are checked. */
interface CommitsQuery {
  /** A folder of the repository. */
  folder: string;
  /** `base..head`; undefined: as the variables of the CI system say. */
  range?: string | undefined;
  /** The input of a pre-receive hook. */
  pushed?: string | undefined;
  /** Whether commits without a proof are refused, too. */
  requireProof: boolean;
  env: Env;
}

/**
 * `proven`: its proof is that of this commit. `human`: it does not claim to be from halo. `refused`: it does so without a
 * proof, or the proof is that of something else.
 */
interface CheckedCommit {
  commit: string;
  kind: 'proven' | 'human' | 'refused';
  /** The story, or why it is refused. */
  says: string;
}

/**
 * Decides of new commits whether they may enter a branch: those that name a run need its proof, and, if
 * `git.allowed_signers` is set, its signature. Runs no gates. Throws USAGE without a range, GIT_FAILED, CONFIG_INVALID.
 */
export async function* checkCommits(host: Host, query: CommitsQuery): AsyncGenerator<CheckedCommit> {
  const { folder, requireProof } = query;
  const { config } = resolveConfig({ ...(await readHomeFiles(host.home)), env: query.env, cwd: folder });
  const scratch = await mkdtemp(join(tmpdir(), 'halo-check-'));
  try {
    const toCheck = await selectCommits(query, scratch);
    const signers = await findSigners(config.git, scratch);
    const notes = await readNotesAt(toCheck.gitDir, toCheck.notes, toCheck.commits);
    for (const commit of toCheck.commits) {
      const check = { gitDir: toCheck.gitDir, commit, note: notes.get(commit), signers };
      yield { commit, ...(await checkCommit(check, requireProof)) };
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function selectCommits({ folder, range, pushed, env }: CommitsQuery, scratch: string): Promise<CommitsToCheck> {
  const gitDir = await requireGitDir(folder);
  if (pushed !== undefined)
    return listPushed(gitDir, parsePushedRefs(pushed), { folder: scratch, objects: quarantineOf(env) });
  const wanted = range ?? rangeOf(env);
  if (wanted !== undefined && /^[^\s-][^\s]*\.\.[^\s]+$/.test(wanted)) return listRange(gitDir, wanted);
  throw new HaloError(
    'USAGE',
    wanted === undefined ? 'No range of commits is known.' : `${JSON.stringify(wanted)} is not a range of commits.`,
    {
      hint: 'Name it as base..head, for example `halo verify --ci origin/main..HEAD`.',
    },
  );
}

/** The range of a pull request or push, in the variables of GitHub Actions, Gitea Actions and GitLab CI. */
function rangeOf(env: Env): string | undefined {
  if (env['GITHUB_BASE_REF']) return `origin/${env['GITHUB_BASE_REF']}..HEAD`;
  const base = env['CI_MERGE_REQUEST_DIFF_BASE_SHA'] ?? env['CI_COMMIT_BEFORE_SHA'];
  return base === undefined || /^0*$/.test(base) ? undefined : `${base}..HEAD`;
}

interface CommitCheck {
  gitDir: string;
  commit: string;
  note: Note | undefined;
  /** From `findSigners`. */
  signers: string | undefined;
}

async function checkCommit(check: CommitCheck, requireProof: boolean): Promise<Omit<CheckedCommit, 'commit'>> {
  const { gitDir, commit, note } = check;
  const message = await gitText(['log', '-1', ...MESSAGE_LOG_ARGS, commit], { gitDir });
  const run = readTrailers(message.replaceAll('\0', '')).get('Halo-Run');
  if (run === undefined && note === undefined)
    return requireProof ? refused('it has no proof') : { kind: 'human', says: 'not from halo' };
  if (note === undefined) return refused(`it names the run ${run}, and has no proof in refs/notes/halo`);
  const read = note.text === undefined ? undefined : readProofText(note.text);
  if (read?.proof === undefined) return refused(`its proof cannot be read: ${read?.fault ?? 'it is too large'}`);
  const { proof } = read;
  const [tree, ...parents] = (await gitText(['log', '-1', '--format=%T %P', commit], { gitDir })).split(' ');
  if (proof.commit !== commit) return refused(`its proof is that of ${proof.commit.slice(0, 12)}`);
  if (proof.tree !== tree || parents.length !== 1 || proof.base !== parents[0])
    return refused('its proof is that of another tree or parent');
  const bad = (await checkSignatures(check)).filter(({ ok }) => ok === false);
  if (bad.length > 0) return refused(bad.map(({ what, found }) => `${what}: ${found}`).join('; '));
  return { kind: 'proven', says: `${proof.story.id}, ${proof.gates.length} gates` };
}

function refused(says: string): Omit<CheckedCommit, 'commit'> {
  return { kind: 'refused', says };
}
