import { join } from 'node:path';
import { readFileAt } from '../../git/repository/inspect-repo.ts';
import { readRegularText } from '../../lib/read-file.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { parsePrd } from '../../prd/parse-prd.ts';

/** With more changes than this in a checkout, they are not all halo's marks. */
const MAX_CHANGES = 50;

/**
 * Those of the changed `paths` of a checkout that are PRDs in which nothing but progress differs from the commit `head`:
 * halo writes such marks itself, and a story neither sees nor needs them.
 */
export async function findMarkedPrds(
  { root, gitDir, head }: { root: string; gitDir: string; head: string },
  paths: readonly string[],
): Promise<string[]> {
  if (paths.length > MAX_CHANGES) return [];
  const marked = await Promise.all(
    paths.map(async (path) => {
      if (!/\.(json|md|markdown)$/i.test(path)) return [];
      const [before, now] = await Promise.all([
        readFileAt({ gitDir, commit: head, path, maxBytes: MAX_PRD_BYTES }).catch(() => undefined),
        readRegularText(join(root, path), MAX_PRD_BYTES).catch(() => undefined),
      ]);
      return before !== undefined && now !== undefined && differsInProgress(path, before, now) ? [path] : [];
    }),
  );
  return marked.flat();
}

function differsInProgress(path: string, before: string, now: string): boolean {
  // A Markdown file may say more than its stories, and all of it must be as before.
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
