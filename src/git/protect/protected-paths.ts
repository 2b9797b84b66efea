import { setImmediate } from 'node:timers/promises';
import { compileGlobs, type GlobMatcher } from '../../lib/glob.ts';
import { foldName } from '../import/path-policy.ts';
import { PROTECTED_GROUPS } from './protected-list.ts';
import { policyViolation } from '../import/policy-violation.ts';

let ownRules: Rule[] | undefined;

/** Time limit of the matching, because the worker has other stories to process. */
const MAX_MATCHING_MS = 60_000;
/** How long the matching runs before other stories of the worker get a turn. */
const SLICE_MS = 20;

/**
 * Returns those of `paths` that require approval, in their order: matched by halo's own list and then by `globs` in turn,
 * of which one with a leading `!` excludes paths again. Ignores case and Unicode form, like many file systems. Throws
 * POLICY_VIOLATION when the matching takes more than a minute.
 */
export async function findProtected(paths: readonly string[], globs: readonly string[]): Promise<string[]> {
  // Compiled once: it is the same for all stories.
  ownRules ??= compileRules(Object.values(PROTECTED_GROUPS).flat());
  const rules = [...ownRules, ...compileRules(globs)];
  const found: string[] = [];
  const began = performance.now();
  let slice = began;
  for (const path of paths) {
    const folded = foldName(path);
    // Also match with a slash: a symbolic link that replaces a protected folder is protected, too.
    const matches = (each: GlobMatcher) => each.test(folded) || each.test(`${folded}/`);
    if (rules.reduce((held, { negated, any }) => (matches(any) ? !negated : held), false)) found.push(path);
    const now = performance.now();
    if (now - began > MAX_MATCHING_MS)
      throw policyViolation(undefined, 'its paths take too long to compare with [land] protect');
    if (now - slice < SLICE_MS) continue;
    await setImmediate();
    slice = performance.now();
  }
  return found;
}

interface Rule {
  negated: boolean;
  any: GlobMatcher;
}

/** Compiles adjacent globs of the same kind into one rule, which is faster. */
function compileRules(globs: readonly string[]): Rule[] {
  const groups: { negated: boolean; globs: string[] }[] = [];
  for (const glob of globs) {
    const negated = glob.startsWith('!');
    if (groups.at(-1)?.negated !== negated) groups.push({ negated, globs: [] });
    groups.at(-1)?.globs.push(foldName(negated ? glob.slice(1) : glob));
  }
  return groups.map(({ negated, globs }) => ({ negated, any: compileGlobs(globs) }));
}
