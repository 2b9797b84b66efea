import { git, tryGit } from '../process/git.ts';
import { assertObjectId } from '../process/object-id.ts';

/** An ssh key that signs commits. */
export interface SigningKey {
  /** Absolute path of the private key on this host; it has no passphrase. */
  path: string;
}

/** Arguments that run `git commit-tree` and sign the commit if there is a key. */
export function commitTreeArgs(key: SigningKey | undefined): string[] {
  if (key === undefined) return ['commit-tree'];
  return ['-c', 'gpg.format=ssh', '-c', 'gpg.ssh.program=ssh-keygen', 'commit-tree', `-S${key.path}`];
}

/** `none`: not signed; `foreign`: signed by a key that is not allowed; `invalid`: does not match the commit or is unreadable. */
export type Signature = 'good' | 'none' | 'foreign' | 'invalid';

/** Whether a commit has a signature, valid or not. Throws GIT_FAILED. */
export async function isSigned(gitDir: string, commit: string): Promise<boolean> {
  assertObjectId(commit, 'The commit');
  const { stdout } = await git(['cat-file', 'commit', commit], { gitDir });
  const [header = ''] = stdout.toString('latin1').split('\n\n');
  return /^gpgsig(?:-sha256)? /m.test(header);
}

/**
 * Verifies the signature of a commit against a file of allowed signers (see git's `gpg.ssh.allowedSignersFile`). Only ssh
 * signatures are accepted, and configuration of the repository is ignored. Throws GIT_FAILED.
 */
export async function verifySignature(gitDir: string, commit: string, allowedSigners: string): Promise<Signature> {
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
