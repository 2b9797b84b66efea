import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TreeFile } from '../objects/trees.ts';
import { assertObjectId } from '../process/git-output.ts';
import { git, gitText, tryGit } from '../process/git.ts';

interface CommitRequest {
  candidateDir: string;
  /** From `importTree`. */
  tree: string;
  parent: string;
  /** From `commitMessage`. */
  message: string;
  author: { name: string; email: string };
  date: Date;
  /** Signs the commit. */
  key?: SigningKey | undefined;
}

/** Creates a commit with halo as author and committer. The same request creates the same commit. */
export async function createCommit(request: CommitRequest): Promise<string> {
  const { candidateDir, tree, parent, message, author, date } = request;
  assertObjectId(tree, 'The tree');
  assertObjectId(parent, 'The parent');
  const when = `@${Math.floor(date.getTime() / 1000)} +0000`;
  const env = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_AUTHOR_DATE: when,
    GIT_COMMITTER_NAME: author.name,
    GIT_COMMITTER_EMAIL: author.email,
    GIT_COMMITTER_DATE: when,
  };
  return gitText([...commitTreeArgs(request.key), tree, '-p', parent, '-F', '-'], {
    gitDir: candidateDir,
    input: message,
    env,
  });
}

/**
 * Creates a commit that adds files, whose blobs the repository has, to the tree of its parent, or removes those with the
 * mode `ABSENT`. Throws GIT_FAILED.
 */
export async function commitFiles({
  gitDir,
  parent,
  files,
  message = 'Tests',
}: {
  gitDir: string;
  parent: string;
  files: readonly TreeFile[];
  message?: string;
}): Promise<string> {
  const index = join(gitDir, `halo-index-${randomUUID()}`);
  const options = { gitDir, env: { GIT_INDEX_FILE: index } };
  try {
    await gitText(['read-tree', parent], options);
    const input = files.map(({ mode, id, path }) => `${mode} ${id}\t${path}\0`).join('');
    await gitText(['update-index', '-z', '--index-info'], { ...options, input });
    const tree = await gitText(['write-tree'], options);
    const author = { name: 'halo', email: 'halo@localhost' };
    return await createCommit({ candidateDir: gitDir, tree, parent, message, author, date: new Date(0) });
  } finally {
    await rm(index, { force: true });
  }
}

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

const MAGIC = 'openssh-key-v1\0';

/** Returns the public key line of a private ssh key, read from the part of the file that is never encrypted. */
export function publicKeyOf(privateKey: string): string | undefined {
  const body = /-----BEGIN OPENSSH PRIVATE KEY-----([\sA-Za-z0-9+/=]+)-----END/.exec(privateKey)?.[1];
  if (body === undefined) return undefined;
  const bytes = Buffer.from(body, 'base64');
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined;
  try {
    let at = MAGIC.length;
    const next = () => {
      const start = at + 4;
      at = start + bytes.readUInt32BE(at);
      return bytes.subarray(start, at);
    };
    // Skip cipher, key derivation function and its options, and the number of keys, which is always 1.
    next();
    next();
    next();
    at += 4;
    const key = next();
    const type = key.toString('latin1', 4, 4 + key.readUInt32BE(0));
    return /^[a-z0-9@.-]+$/.test(type) ? `${type} ${key.toString('base64')}` : undefined;
  } catch {
    return undefined;
  }
}
