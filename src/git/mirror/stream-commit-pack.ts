import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gitStream } from '../process/git.ts';
import { assertObjectId } from '../process/object-id.ts';

export interface CommitSource {
  gitDir: string;
  commit: string;
  signal?: AbortSignal;
}

/**
 * A pack with one commit, its tree and its blobs, and no history: the receiver must name the commit in its
 * `shallow` file. The stream fails with GIT_FAILED when git does.
 */
export async function streamCommit({ gitDir, commit, signal }: CommitSource): Promise<Readable> {
  assertObjectId(commit, 'The commit');
  const args = ['pack-objects', '--revs', '--shallow', '--stdout', '--quiet', '--delta-base-offset'];
  const input = `--shallow ${commit}\n${commit}\n`;
  const pack = await gitStream(args, { gitDir, input, ...(signal === undefined ? {} : { signal }) });
  const out = new PassThrough();
  // Ended only when git said that the pack is whole: a cut stream must never look like a complete one.
  Promise.all([pipeline(pack.stdout, out, { end: false }), pack.done]).then(
    () => out.end(),
    (error: unknown) => out.destroy(error as Error),
  );
  return out;
}
