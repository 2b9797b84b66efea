import { RE2JS } from 're2js';

/** What a list of globs matches. */
export interface Globs {
  /** Whether any of the globs matches the whole of `path`. */
  test(path: string): boolean;
}

/**
 * Globs over `/`-separated paths: `*` and `?` stay within one name, `**` crosses folders (`a/**` is everything below
 * `a`, `**` followed by a slash any folders or none), `{a,b}` is either. All other characters stand for themselves.
 * The time of a match is at most the length of the path times that of the globs, whatever either of them holds.
 */
export function compileGlobs(globs: readonly string[]): Globs {
  const pattern = RE2JS.compile(globs.map((glob) => `(?:${patternOf(glob)})`).join('|'), RE2JS.DOTALL);
  return { test: (path) => globs.length > 0 && pattern.testExact(path) };
}

function patternOf(glob: string): string {
  let pattern = '';
  let open = 0;
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob.charAt(at);
    if (glob.startsWith('**/', at) && (at === 0 || glob[at - 1] === '/')) {
      pattern += '(?:[^/]+/)*';
      at += 2;
    } else if (glob.startsWith('**', at)) {
      pattern += '.*';
      at += 1;
    } else if (character === '*') pattern += '[^/]*';
    else if (character === '?') pattern += '[^/]';
    else if (character === '{' && glob.includes('}', at)) {
      pattern += '(?:';
      open += 1;
    } else if (character === '}' && open > 0) {
      pattern += ')';
      open -= 1;
    } else if (character === ',' && open > 0) pattern += '|';
    else pattern += character.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  }
  return pattern + ')'.repeat(open);
}
