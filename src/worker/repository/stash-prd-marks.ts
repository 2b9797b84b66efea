import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readBytesAt, type RepoFacts } from '../../git/repository/inspect-repo.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { markDone, type Progress } from '../../prd/progress/mark-done.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { replaceFile } from './replace-file.ts';

export interface MarkedCheckout {
  facts: Pick<RepoFacts, 'root' | 'gitDir' | 'head'>;
  /** The commit that lands. */
  tip: string;
  /** Of the PRD, from the top of the checkout. */
  path: string;
}

/**
 * Lands commits in which stories have marked themselves in the PRD, although halo has marked them in the checkout's own
 * file, too: git would not write over that. Where the file is nothing but the commit's with such marks, they are taken
 * out meanwhile and put back into what has landed; any other file is left to git, which refuses.
 */
export async function setMarksAside<T>({ facts, tip, path }: MarkedCheckout, land: () => Promise<T>): Promise<T> {
  const { root, gitDir, head } = facts;
  const file = join(root, path);
  const [before, after] = await Promise.all(
    [head, tip].map((commit) => readBytesAt({ gitDir, commit, path, maxBytes: MAX_PRD_BYTES }).catch(() => undefined)),
  );
  if (before === undefined || after === undefined || before.equals(after)) return land();
  const now = await readFile(file).catch(() => undefined);
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
    // Whatever becomes of the marks, it says nothing about the landing.
    await replaceFile(file, back).catch(() => undefined);
  }
}

/** The marks by which alone the second file differs from the first; undefined when there are none, or more differs. */
function progressBetween(before: Buffer, now: Buffer, path: string): Progress | undefined {
  try {
    const { stories } = parsePrd(now, path);
    const progress: Progress = {
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

/** What has landed may be no PRD any more, if a person let it through. */
function remark(bytes: Uint8Array, path: string, progress: Progress): Uint8Array | undefined {
  try {
    return markDone(bytes, path, progress).bytes;
  } catch {
    return undefined;
  }
}
