import { compileGlob } from '../lib/glob.ts';
import { foldName } from './path-policy.ts';
import { PROTECTED_GROUPS } from './protected-list.ts';

const PROTECTED_PATHS = Object.values(PROTECTED_GROUPS).flat();

/**
 * Those of `paths` that only a person may let through, in their order: halo's own list, then `globs` in turn, of which
 * one with a leading `!` takes its paths out again. Case and Unicode form do not count, as on many a file system.
 */
export function findProtected(paths: readonly string[], globs: readonly string[]): string[] {
  const rules = [...PROTECTED_PATHS, ...globs].map((glob) => {
    const negated = glob.startsWith('!');
    return { negated, pattern: compileGlob(foldName(negated ? glob.slice(1) : glob)) };
  });
  return paths.filter((path) => {
    const folded = foldName(path);
    // A protected folder is protected as a whole: a symbolic link in its place has the path without the slash.
    const matches = (pattern: RegExp) => pattern.test(folded) || pattern.test(`${folded}/`);
    return rules.reduce((held, { negated, pattern }) => (matches(pattern) ? !negated : held), false);
  });
}
