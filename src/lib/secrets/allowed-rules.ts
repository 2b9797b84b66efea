import { compileGlobs } from '../glob.ts';
import { findClosest } from '../text.ts';
import LEAK_RULES from './leak-rule-names.json' with { type: 'json' };
import { PRIVATE_KEY, TOKEN_PATTERNS } from './token-patterns.ts';

/** `rule` or `rule:glob`: the rule does not count in files whose path matches the glob, or in any file. */
function parseAllowed(text: string): { rule: string; glob: string } {
  const colon = text.indexOf(':');
  return colon === -1 ? { rule: text, glob: '**' } : { rule: text.slice(0, colon), glob: text.slice(colon + 1) };
}

/** What is wrong with an entry of `secrets.allow`; undefined: nothing. */
export function findAllowedProblem(text: string): string | undefined {
  const { rule, glob } = parseAllowed(text);
  const rules = [...TOKEN_PATTERNS.map((pattern) => pattern.rule), PRIVATE_KEY.rule, ...LEAK_RULES];
  if (glob === '') return `must have a glob after the colon of ${JSON.stringify(text)}`;
  if (rules.includes(rule)) return undefined;
  const closest = findClosest(rule, rules);
  const hint = closest === undefined ? 'halo names the rule of each possible secret' : `do you mean "${closest}"?`;
  return `names ${JSON.stringify(rule)}, which is not a rule; ${hint}`;
}

/** Whether entries of `secrets.allow` allow what a rule finds in the file at a path. */
export function compileAllowed(entries: readonly string[]): (rule: string, path: string) => boolean {
  const parsed = entries.map(parseAllowed).map(({ rule, glob }) => ({ rule, globs: compileGlobs([glob]) }));
  return (rule, path) => parsed.some((entry) => entry.rule === rule && entry.globs.test(path));
}
