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
