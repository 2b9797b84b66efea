import { readdir } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { readBytesAt, readFileAt, type RepoInfo } from '../../git/repository/inspect-repo.ts';
import { readRegularFile, readRegularText } from '../../lib/fs.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { hasPrdEnding } from '../../prd/dialect-registry.ts';
import { markDone, type PrdProgress } from '../../prd/mark-done.ts';
import { textWithoutMarks } from '../../prd/judge-change.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { replaceFile } from './replace-file.ts';

/** With more changed files, they are not all marks of halo. */
const MAX_CHANGES = 50;

/** Where `halo queue` moves finished PRDs, below their folder. */
export const DONE_FOLDER = 'done';

/**
 * Finds the changed `paths` of a checkout that are PRDs and differ from the commit `head` only in progress marks, or were
 * moved to `done/` by `halo queue`. halo makes such changes itself, and stories do not need them.
 */
export async function findMarkedPrds(
  { root, gitDir, head }: { root: string; gitDir: string; head: string },
  paths: readonly string[],
): Promise<string[]> {
  if (paths.length > MAX_CHANGES) return [];
  const marked = await Promise.all(
    paths.map(async (path) => {
      if (!hasPrdEnding(path)) return [];
      const [before, now] = await Promise.all([
        readFileAt({ gitDir, commit: head, path, maxBytes: MAX_PRD_BYTES }).catch(() => undefined),
        readRegularText(join(root, path), MAX_PRD_BYTES).catch((error: NodeJS.ErrnoException) => error),
      ]);
      if (before === undefined) return [];
      if (typeof now === 'string') return differsInProgress(path, before, now) ? [path] : [];
      return now.code === 'ENOENT' && (await isArchived(join(root, path), before)) ? [path] : [];
    }),
  );
  return marked.flat();
}

/** Whether the folder `done` beside a file that is gone has its stories, as `a.json` or `a.2.json`. */
async function isArchived(file: string, before: string): Promise<boolean> {
  const done = join(dirname(file), DONE_FOLDER);
  const { name: stem, ext } = parse(file);
  const names = await readdir(done).catch(() => []);
  const same = names
    .filter(
      (name) => name.startsWith(stem) && name.endsWith(ext) && /^(\.\d+)?$/.test(name.slice(stem.length, -ext.length)),
    )
    .map(async (name) => {
      const text = await readRegularText(join(done, name), MAX_PRD_BYTES).catch(() => undefined);
      return text !== undefined && differsInProgress(file, before, text);
    });
  return (await Promise.all(same)).includes(true);
}

function differsInProgress(path: string, before: string, now: string): boolean {
  const [was, is] = [specHashOf(path, before), specHashOf(path, now)];
  if (was === undefined || was !== is) return false;
  // A Markdown file may hold other text, which must be unchanged.
  const text = (of: string) => textWithoutMarks(new TextEncoder().encode(of), path);
  return text(before) === text(now);
}

function specHashOf(path: string, text: string): string | undefined {
  try {
    return parsePrd(new TextEncoder().encode(text), path).specHash;
  } catch {
    return undefined;
  }
}

interface MarkedCheckout {
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
