import { git, tryGit } from '../process/git.ts';
import { assertObjectId } from '../process/object-id.ts';

/** An ssh key that signs commits. */
export interface SigningKey {
  /** Absolute path of the private key on this host; it has no passphrase. */
  path: string;
}

/** Arguments of `git commit-tree`, with those of git before it, that sign the commit; none without a key. */
export function commitTreeArgs(key: SigningKey | undefined): string[] {
  if (key === undefined) return ['commit-tree'];
  return ['-c', 'gpg.format=ssh', '-c', 'gpg.ssh.program=ssh-keygen', 'commit-tree', `-S${key.path}`];
}

/** `none`: not signed at all; `foreign`: by a key that is not allowed; `invalid`: a signature of something else, or none that can be read. */
export type Signature = 'good' | 'none' | 'foreign' | 'invalid';

/** Whether a commit carries a signature, whoever made it. Throws GIT_FAILED. */
export async function isSigned(gitDir: string, commit: string): Promise<boolean> {
  assertObjectId(commit, 'The commit');
  const { stdout } = await git(['cat-file', 'commit', commit], { gitDir });
  const [header = ''] = stdout.toString('latin1').split('\n\n');
  return /^gpgsig(?:-sha256)? /m.test(header);
}

/**
 * Holds the signature of a commit against a file of allowed signers (as git's `gpg.ssh.allowedSignersFile`). Nothing that
 * the repository configures has a say: only ssh signatures count, and only this file decides. Throws GIT_FAILED.
 */
export async function checkSignature(gitDir: string, commit: string, allowedSigners: string): Promise<Signature> {
  if (!(await isSigned(gitDir, commit))) return 'none';
  const settings = [
    'gpg.ssh.program=ssh-keygen',
    `gpg.ssh.allowedSignersFile=${allowedSigners}`,
    'gpg.minTrustLevel=fully',
    ...['gpg.program', 'gpg.openpgp.program', 'gpg.x509.program'].map((name) => `${name}=/bin/false`),
  ];
  const args = [...settings.flatMap((setting) => ['-c', setting]), 'verify-commit', commit];
  const { exitCode, stderr } = await tryGit(args, { gitDir });
  if (exitCode === 0) return 'good';
  return stderr.includes('Good "git" signature') ? 'foreign' : 'invalid';
}
