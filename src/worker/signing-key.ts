import type { Config } from '../config/config.ts';
import type { SigningKey } from '../git/commit/commit-signing.ts';

/** The key that a run's commits are signed with, if any. */
export function signingKey({ sign, signingKey: path }: Config['git']): SigningKey | undefined {
  return sign === 'ssh' && path !== undefined ? { path } : undefined;
}
