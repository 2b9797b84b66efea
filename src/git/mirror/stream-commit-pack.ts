import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gitStream } from '../process/git.ts';
import { assertObjectId } from '../process/object-id.ts';
import { defined } from '../../lib/guards.ts';

export interface CommitSource {
  gitDir: string;
  commit: string;
  signal?: AbortSignal;
}

/**
 * Streams a pack with one commit, its tree and its blobs, without history: the receiver must list the commit in its
 * `shallow` file. The stream fails with GIT_FAILED when git does.
 */
export async function streamCommitPack({ gitDir, commit, signal }: CommitSource): Promise<Readable> {
  assertObjectId(commit, 'The commit');
  const args = ['pack-objects', '--revs', '--shallow', '--stdout', '--quiet', '--delta-base-offset'];
  const input = `--shallow ${commit}\n${commit}\n`;
  const pack = await gitStream(args, { gitDir, input, ...defined({ signal }) });
  const out = new PassThrough();
  // Ended only after git succeeded: a truncated stream must never look complete.
  Promise.all([pipeline(pack.stdout, out, { end: false }), pack.done]).then(
    () => out.end(),
    (error: unknown) => out.destroy(error as Error),
  );
  return out;
}
