import { HaloError } from '../../core/failure/errors.ts';
import { fetchWithinShare } from '../mirror/disk-share.ts';
import { failureOf, tryGit } from '../process/git.ts';
import { lastErrorLine } from '../process/git-output.ts';
import { callRemote } from '../process/remote-access.ts';
import { NOTES_REF } from '../commit/notes.ts';
import type { Login } from './repo-url.ts';

interface PushedRefs {
  mirrorDir: string;
  /** The repository with the notes of the run. */
  hostGitDir: string;
  /** http or https, without a login. */
  url: string;
  login: Login;
  branches: readonly { name: string; commit: string }[];
}

const NO_REDIRECTS = ['-c', 'http.followRedirects=false'];

/**
 * Pushes commits as the heads of branches, and the proofs of landed commits, with a login that no file, argument or helper
 * of the machine receives. Never overwrites what others have pushed. Returns why the proofs were not pushed, if they were
 * not. Throws FORGE_FAILED.
 */
export async function pushRefs(pushed: PushedRefs): Promise<string | undefined> {
  const { branches, mirrorDir, hostGitDir } = pushed;
  for (const { name, commit } of branches) {
    const failed = await push(pushed, `${commit}:refs/heads/${name}`);
    if (failed === undefined) continue;
    throw new HaloError('FORGE_FAILED', `The branch ${name} could not be pushed to ${pushed.url}: ${failed}`, {
      hint: 'Check that the token that `token_env` below [forge] names may push to the repository.',
    });
  }
  if (hostGitDir !== mirrorDir) {
    const fetch = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--refmap='];
    const args = [...fetch, '--', hostGitDir, `+${NOTES_REF}:${NOTES_REF}`];
    const options = { gitDir: mirrorDir, protocols: 'file', durable: true };
    const fetched = await fetchWithinShare(args, options);
    if (fetched.exitCode !== 0) throw failureOf(args, fetched, options);
  }
  return push(pushed, `${NOTES_REF}:${NOTES_REF}`);
}

/** Whether a branch to which others have pushed, whose newest commit is `head`, contains a commit. False if it cannot be read. */
export async function hasPushedCommit(
  { mirrorDir, url, login }: Omit<PushedRefs, 'branches' | 'hostGitDir'>,
  { name, head, commit }: { name: string; head: string; commit: string },
): Promise<boolean> {
  if (!/^[0-9a-f]{40,64}$/.test(head)) return false;
  const kept = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules', '--refmap='];
  const remote = callRemote(url, { login });
  const args = [...remote.args, ...NO_REDIRECTS, 'fetch', '--quiet', ...kept, '--', url, `refs/heads/${name}`];
  const fetched = await fetchWithinShare(args, { gitDir: mirrorDir, ...remote.options });
  if (fetched.exitCode !== 0) return false;
  return (await tryGit(['merge-base', '--is-ancestor', commit, head], { gitDir: mirrorDir })).exitCode === 0;
}

async function push({ mirrorDir, url, login }: PushedRefs, refspec: string): Promise<string | undefined> {
  const args = ['push', '--quiet', '--no-follow-tags', '--recurse-submodules=no', '--', url, refspec];
  const remote = callRemote(url, { login });
  const { exitCode, stderr } = await tryGit([...remote.args, ...NO_REDIRECTS, ...args], {
    gitDir: mirrorDir,
    ...remote.options,
  });
  return exitCode === 0 ? undefined : (lastErrorLine(stderr) ?? 'git gave no reason');
}
