import { readRegularFile } from '../../lib/fs.ts';
import { join } from 'node:path';
import { readBytesAt, type RepoInfo } from '../../git/repository/inspect-repo.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { markDone, type PrdProgress } from '../../prd/mark-done.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { replaceFile } from './replace-file.ts';

export interface MarkedCheckout {
  facts: Pick<RepoInfo, 'root' | 'gitDir' | 'head'>;
  /** The commit that lands. */
  tip: string;
  /** The path of the PRD, relative to the top of the checkout. */
  path: string;
}

/**
 * Runs `land` for commits that change the PRD, although the checkout's PRD has marks of halo, which git would refuse to
 * overwrite. If the file differs from its commit only in such marks, removes them during `land` and adds them to the result.
 */
export async function withoutPrdMarks<T>({ facts, tip, path }: MarkedCheckout, land: () => Promise<T>): Promise<T> {
  const { root, gitDir, head } = facts;
  const file = join(root, path);
  const [before, after] = await Promise.all(
    [head, tip].map((commit) => readBytesAt({ gitDir, commit, path, maxBytes: MAX_PRD_BYTES }).catch(() => undefined)),
  );
  if (before === undefined || after === undefined || before.equals(after)) return land();
  const now = await readRegularFile(file, MAX_PRD_BYTES).catch(() => undefined);
  const progress = now && progressBetween(before, now, path);
  if (now === undefined || progress === undefined) return land();
  await replaceFile(file, (bytes) => (now.equals(bytes) ? before : undefined));
  let landed = false;
  try {
    const result = await land();
    landed = true;
    return result;
  } finally {
    const back = (bytes: Uint8Array) =>
      landed ? remark(bytes, path, progress) : before.equals(bytes) ? now : undefined;
    // A failure to restore the marks does not affect the landing.
    await replaceFile(file, back).catch(() => undefined);
  }
}

/** The marks that are the only difference between two files; undefined if there are none or more differs. */
function progressBetween(before: Buffer, now: Buffer, path: string): PrdProgress | undefined {
  try {
    const { stories } = parsePrd(now, path);
    const progress: PrdProgress = {
      landed: stories.filter(({ status }) => status === 'done'),
      before: parsePrd(before, path).stories.filter(({ status }) => status === 'done'),
      begun: stories.filter(({ status }) => status === 'in_progress').map(({ id }) => id),
    };
    const { bytes } = markDone(before, path, progress);
    return bytes !== undefined && now.equals(bytes) ? progress : undefined;
  } catch {
    return undefined;
  }
}

/** Adds marks to a landed file; undefined if it is no longer a valid PRD. */
function remark(bytes: Uint8Array, path: string, progress: PrdProgress): Uint8Array | undefined {
  try {
    return markDone(bytes, path, progress).bytes;
  } catch {
    return undefined;
  }
}
