import { loadRe2 } from './re2.ts';

/** A compiled list of globs. */
export interface GlobMatcher {
  /** Whether any of the globs matches the whole path. */
  test(path: string): boolean;
}

/** With a single `*` or `**`, and no braces, JavaScript's own regular expressions take no longer than RE2. */
const HAS_ONE_CHOICE = /^[^*{}]*\*{0,2}[^*{}]*$/;

/**
 * Compiles globs over `/`-separated paths: `*` and `?` match within one segment, `**` across segments (`a/**` is
 * everything below `a`, `**` followed by a slash any number of folders), `{a,b}` matches either. All other characters are
 * literal. Patterns come from repositories: a match takes at most path length × pattern length.
 */
export function compileGlobs(globs: readonly string[]): GlobMatcher {
  if (globs.every((glob) => HAS_ONE_CHOICE.test(glob))) return compileOwnGlobs(globs);
  const compile = () => {
    const RE2JS = loadRe2();
    return RE2JS.compile(anyOf(globs), RE2JS.DOTALL);
  };
  let pattern: ReturnType<typeof compile> | undefined;
  return { test: (path) => globs.length > 0 && (pattern ??= compile()).testExact(path) };
}

/**
 * The same for globs that are part of halo, with the regular expressions of JavaScript, which cost nothing to load. Some
 * globs would make them slow, so those of a user or a repository need `compileGlobs`.
 */
export function compileOwnGlobs(globs: readonly string[]): GlobMatcher {
  const pattern = new RegExp(`^(?:${anyOf(globs)})$`, 'su');
  return { test: (path) => globs.length > 0 && pattern.test(path) };
}

function anyOf(globs: readonly string[]): string {
  return globs.map((glob) => `(?:${toRegExpSource(glob)})`).join('|');
}

function toRegExpSource(glob: string): string {
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
