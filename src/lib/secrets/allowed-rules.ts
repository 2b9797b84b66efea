import { compileGlobs } from '../glob.ts';
import LEAK_RULES from './leak-rule-names.json' with { type: 'json' };
import { PRIVATE_KEY, TOKEN_PATTERNS } from './token-patterns.ts';

/** `rule` or `rule:glob`: the rule does not count in files whose path matches the glob, or in any file. */
export function parseAllowed(text: string): { rule: string; glob: string } {
  const colon = text.indexOf(':');
  return colon === -1 ? { rule: text, glob: '**' } : { rule: text.slice(0, colon), glob: text.slice(colon + 1) };
}

/** The names of all rules. */
export function allowedRules(): string[] {
  return [...TOKEN_PATTERNS.map(({ rule }) => rule), PRIVATE_KEY.rule, ...LEAK_RULES];
}

/** Whether entries of `secrets.allow` allow what a rule finds in the file at a path. */
export function compileAllowed(entries: readonly string[]): (rule: string, path: string) => boolean {
  const parsed = entries.map(parseAllowed).map(({ rule, glob }) => ({ rule, globs: compileGlobs([glob]) }));
  return (rule, path) => parsed.some((entry) => entry.rule === rule && entry.globs.test(path));
}
