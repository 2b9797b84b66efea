import { readdir } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { readFileAt } from '../../git/repository/inspect-repo.ts';
import { readRegularText } from '../../lib/fs.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { hasPrdEnding } from '../../prd/dialect-registry.ts';
import { parsePrd } from '../../prd/parse-prd.ts';

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
  // A Markdown file may hold other text, which must be unchanged.
  if (!path.toLowerCase().endsWith('.json') && withoutBoxes(before) !== withoutBoxes(now)) return false;
  const [was, is] = [specHashOf(path, before), specHashOf(path, now)];
  return was !== undefined && was === is;
}

function withoutBoxes(text: string): string {
  return text.replaceAll(/^([ \t]*[-*+] )\[[ xX~>/-]\]/gm, '$1[ ]');
}

function specHashOf(path: string, text: string): string | undefined {
  try {
    return parsePrd(new TextEncoder().encode(text), path).specHash;
  } catch {
    return undefined;
  }
}
