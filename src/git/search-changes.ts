import type { Masker } from '../lib/secrets/masker.ts';
import type { Found } from '../lib/secrets/search.ts';
import { gitStream } from './git.ts';
import { ABSENT, type RawChange } from './tree-diff.ts';
import { violation } from './violation.ts';

/** A path to which a change adds what looks like a secret. */
export interface Suspect {
  path: string;
  /** What it looks like, for people; each once. */
  names: string[];
}

export interface ChangeSearch {
  /** Where both the old and the new contents are. */
  gitDir: string;
  changes: RawChange[];
  masker: Pick<Masker, 'scan'>;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/**
 * Looks through everything that changes add: names, links and whole contents. What was in a file before does not count.
 * Throws POLICY_VIOLATION for a secret that is known, and answers with what only looks like one.
 */
export async function searchChanges(search: ChangeSearch): Promise<Suspect[]> {
  const present = search.changes.filter(({ newMode }) => newMode !== ABSENT);
  for (const { path } of present) if (scanText(search, path).some(isKnown)) throw violation(undefined, KNOWN_NAME);
  const found = await scanBlobs(search, [...new Set(present.map(({ newId }) => newId))]);
  const touched = present.filter(({ newId }) => (found.get(newId) ?? []).length > 0);
  const before = touched.filter(({ oldMode }) => oldMode !== ABSENT && oldMode !== SUBMODULE);
  const old = await scanBlobs(search, [...new Set(before.map(({ oldId }) => oldId))]);
  return touched.flatMap(({ path, newId, oldId }) => {
    const known = new Set((old.get(oldId) ?? []).map(({ id }) => id));
    const added = (found.get(newId) ?? []).filter(({ id }) => !known.has(id));
    if (added.some(isKnown)) throw violation(path, 'it holds a secret of the machine that halo runs on');
    return added.length === 0 ? [] : [{ path, names: [...new Set(added.map(({ name }) => name))] }];
  });
}

const SUBMODULE = '160000';
const KNOWN_NAME = 'the name of a file holds a secret of the machine that halo runs on';

function isKnown({ kind }: Found): boolean {
  return kind === 'known';
}

function scanText({ masker }: ChangeSearch, text: string): Found[] {
  const scan = masker.scan();
  scan.push(Buffer.from(text));
  return scan.end();
}

/** One process for all, however large they are together: contents pass by and are not kept. */
async function scanBlobs(search: ChangeSearch, ids: string[]): Promise<Map<string, Found[]>> {
  const found = new Map<string, Found[]>();
  if (ids.length === 0) return found;
  const { gitDir, masker, timeoutMs, signal } = search;
  const input = `${ids.join('\n')}\n`;
  const options = { gitDir, input, timeoutMs, ...(signal === undefined ? {} : { signal }) };
  const objects = await gitStream(['cat-file', '--batch'], options);
  objects.done.catch(() => undefined);
  let head = '';
  let left = 0;
  let scan = masker.scan();
  for await (const chunk of objects.stdout) {
    let rest = chunk as Buffer;
    while (rest.length > 0) {
      if (left === 0) {
        const end = rest.indexOf(0x0a);
        head += rest.toString('latin1', 0, end < 0 ? rest.length : end);
        rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1);
        if (end < 0) continue;
        // One more for the line end behind the contents.
        left = Number(head.split(' ')[2]) + 1;
        if (Number.isNaN(left)) throw violation(undefined, 'its contents are missing');
        continue;
      }
      scan.push(rest.subarray(0, left));
      const taken = Math.min(left, rest.length);
      left -= taken;
      rest = rest.subarray(taken);
      if (left > 0) continue;
      found.set(head.split(' ')[0] ?? '', scan.end());
      [head, scan] = ['', masker.scan()];
    }
  }
  await objects.done;
  return found;
}
