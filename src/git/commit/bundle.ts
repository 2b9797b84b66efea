import { open } from 'node:fs/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { assertObjectId } from '../process/git-output.ts';
import { git } from '../process/git.ts';

const REF = 'refs/heads/change';
const MAX_HEAD_BYTES = 16_384;

/** A commit in a bundle, which has what the commit adds to its parent. */
export interface BundledCommit {
  commit: string;
  parent: string;
}

/** Writes a bundle with one commit to a new file. Throws GIT_FAILED. */
export async function writeBundle(gitDir: string, { commit, parent }: BundledCommit, file: string): Promise<void> {
  assertObjectId(commit, 'The commit');
  assertObjectId(parent, 'The parent');
  await git(['update-ref', '--no-deref', REF, commit], { gitDir });
  await git(['bundle', 'create', file, REF, `^${parent}`], { gitDir });
}

/** Reads which commit is in a bundle of `writeBundle`. Throws GIT_FAILED for another file. */
export async function readBundle(file: string): Promise<BundledCommit> {
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0);
    const head = buffer.toString('latin1', 0, bytesRead);
    const [, parent, commit] =
      /^# v[23] git bundle\n(?:@[^\n]*\n)*-([0-9a-f]{40,64})[^\n]*\n([0-9a-f]{40,64}) refs\/heads\/change\n\n/.exec(
        head,
      ) ?? [];
    if (parent === undefined || commit === undefined)
      throw new HaloError('GIT_FAILED', `The bundle ${file} is damaged.`);
    return { commit, parent };
  } finally {
    await handle.close();
  }
}

/** Stores the commit of a bundle in a repository that has its parent. Throws GIT_FAILED. */
export async function takeBundle(gitDir: string, { parent }: BundledCommit, file: string): Promise<void> {
  // Git looks for the parent in the history of refs.
  await git(['update-ref', '--no-deref', 'refs/heads/parent', parent], { gitDir });
  await git(['bundle', 'unbundle', file], { gitDir });
}
