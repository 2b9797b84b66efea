import { dirname, join } from 'node:path';
import { pathExists } from '../../lib/fs.ts';
import { LockBusyError } from '../../lib/lock.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { git, gitText } from '../process/git.ts';
import { withMirrorLock } from './mirror.ts';

/** Unreachable objects that are younger may belong to a commit that another process is storing. */
const GRACE = '1.day.ago';
const REPACK_MS = 3_600_000;

/**
 * Deletes the refs of a removed run next to a mirror: its locked tests and kept work in the held repository, and its branch in the mirror.
 * The branch in the user's repository stays. Safe to repeat.
 */
export async function releaseRun(mirrorDir: string, runId: string): Promise<void> {
  if (!RUN_ID.test(runId)) return;
  await deleteRefs(mirrorDir, `refs/heads/halo/${runId}`);
  for (const kind of ['tests', 'held']) await deleteRefs(heldOf(mirrorDir), `refs/halo/${kind}/${runId}/`);
}

/** Removes the objects of the held repository that no ref needs. Skipped when another process holds the mirror's lock. */
export async function repackHeld(mirrorDir: string): Promise<void> {
  const gitDir = heldOf(mirrorDir);
  if (!(await pathExists(gitDir))) return;
  const args = ['repack', '-A', '-d', '-l', '--quiet', `--unpack-unreachable=${GRACE}`];
  const repack = () => git(args, { gitDir, timeoutMs: REPACK_MS, durable: true });
  await withMirrorLock(mirrorDir, repack, { waitMs: 0 }).catch((error: unknown) => {
    if (!(error instanceof LockBusyError)) throw error;
  });
}

async function deleteRefs(gitDir: string, pattern: string): Promise<void> {
  if (!(await pathExists(gitDir))) return;
  const names = await gitText(['for-each-ref', '--format=%(refname)', pattern], { gitDir });
  for (const name of names.split('\n').filter((each) => each !== ''))
    await git(['update-ref', '--no-deref', '-d', name], { gitDir, durable: true });
}

function heldOf(mirrorDir: string): string {
  return join(dirname(mirrorDir), 'held.git');
}
