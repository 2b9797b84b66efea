import { writeBundle, type BundledCommit } from '../../git/commit/bundle.ts';
import type { Attempt } from './open-attempt.ts';

/** The artifact with the commit of an attempt. */
export const CHANGE = 'change.bundle';

/**
 * Keeps the change of an attempt among its artifacts: as a patch, which git may still be making, and as the commit, which
 * `halo debug` checks out.
 */
export async function keepChange(
  { worker, identity, resources }: Pick<Attempt, 'worker' | 'identity' | 'resources'>,
  { commit, parent, patch }: BundledCommit & { patch: Promise<Uint8Array> },
): Promise<void> {
  const { store } = worker;
  await Promise.all([
    patch.then((bytes) => store.writePatch(identity.location, bytes)),
    store.placeArtifact(identity.location, CHANGE, (path) =>
      writeBundle(resources.candidateDir, { commit, parent }, path),
    ),
  ]);
}
