import { createWriteStream } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { assertObjectId } from '../process/git-output.ts';
import { streamHistory } from '../mirror/send-commit.ts';
import { git } from '../process/git.ts';

const REF = 'refs/heads/change';
const MAX_HEAD_BYTES = 16_384;

/** A commit in a bundle, which has what the commit adds to its parent. */
export interface BundledCommit {
  commit: string;
  parent: string;
}

/**
 * Writes a bundle (gitformat-bundle) with one commit, as `git bundle create` does, but without a ref in the repository and
 * with one process instead of three. Throws GIT_FAILED.
 */
export async function writeBundle(gitDir: string, { commit, parent }: BundledCommit, file: string): Promise<void> {
  assertObjectId(commit, 'The commit');
  assertObjectId(parent, 'The parent');
  const format = commit.length === 64 ? ['# v3 git bundle', '@object-format=sha256'] : ['# v2 git bundle'];
  const head = [...format, `-${parent}`, `${commit} ${REF}`, '', ''].join('\n');
  const pack = await streamHistory({ gitDir, wanted: [commit], known: [parent] });
  const unfinished = `${file}.new`;
  try {
    await writeFile(unfinished, head, { mode: 0o600 });
    await pipeline(pack, createWriteStream(unfinished, { flags: 'a' }));
    await rename(unfinished, file);
  } catch (error) {
    pack.destroy();
    await rm(unfinished, { force: true });
    throw error;
  }
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
