import { setImmediate } from 'node:timers/promises';
import { compileGlobs, type Globs } from '../../lib/glob.ts';
import { foldName } from '../path-policy.ts';
import { PROTECTED_GROUPS } from './protected-list.ts';
import { violation } from '../violation.ts';

let ownRules: Rule[] | undefined;

/** Longer than this, the matching would keep a worker busy that has other stories to do. */
const LONGEST_MS = 60_000;
/** How long other stories of the worker wait for a slice of the matching. */
const SLICE_MS = 20;

/**
 * Those of `paths` that only a person may let through, in their order: halo's own list, then `globs` in turn, of which
 * one with a leading `!` takes its paths out again. Case and Unicode form do not count, as on many a file system.
 * Throws POLICY_VIOLATION when globs and paths are made so that the matching takes more than a minute.
 */
export async function findProtected(paths: readonly string[], globs: readonly string[]): Promise<string[]> {
  // The same for all stories, and by far the longest.
  ownRules ??= compileRules(Object.values(PROTECTED_GROUPS).flat());
  const rules = [...ownRules, ...compileRules(globs)];
  const found: string[] = [];
  const began = performance.now();
  let slice = began;
  for (const path of paths) {
    const folded = foldName(path);
    // A protected folder is protected as a whole: a symbolic link in its place has the path without the slash.
    const matches = (each: Globs) => each.test(folded) || each.test(`${folded}/`);
    if (rules.reduce((held, { negated, any }) => (matches(any) ? !negated : held), false)) found.push(path);
    const now = performance.now();
    if (now - began > LONGEST_MS) throw violation(undefined, 'its paths take too long to compare with [land] protect');
    if (now - slice < SLICE_MS) continue;
    await setImmediate();
    slice = performance.now();
  }
  return found;
}

interface Rule {
  negated: boolean;
  any: Globs;
}

/** One rule for all neighbours of the same kind: matched together, they cost little more than one. */
function compileRules(globs: readonly string[]): Rule[] {
  const groups: { negated: boolean; globs: string[] }[] = [];
  for (const glob of globs) {
    const negated = glob.startsWith('!');
    if (groups.at(-1)?.negated !== negated) groups.push({ negated, globs: [] });
    groups.at(-1)?.globs.push(foldName(negated ? glob.slice(1) : glob));
  }
  return groups.map(({ negated, globs }) => ({ negated, any: compileGlobs(globs) }));
}
