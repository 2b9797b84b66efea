import type { Mount } from '../../sandbox/sandbox.ts';

/** The repositories that are mounted read-only into the sandboxes of an attempt. */
export interface MountedRepositories {
  mounts: readonly Mount[];
  /** Commits and tags that `VIEW` has, with all that they reach, if the others are streamed; empty if all are streamed. */
  known: readonly string[];
  /** To call if git cannot read them: then the next attempt does not use them. */
  distrust(this: void): Promise<void>;
}

export const NO_REPOSITORIES: MountedRepositories = { mounts: [], known: [], distrust: () => Promise.resolve() };
