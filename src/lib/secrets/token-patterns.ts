/** A kind of secret that is known by what it looks like. */
export interface TokenPattern {
  name: string;
  /** Global, and linear in the text: each begins at the start of a word and has no choice on the way. */
  pattern: RegExp;
}

const WORD_START = '(?<![A-Za-z0-9_-])';

function token(name: string, body: string): TokenPattern {
  return { name, pattern: new RegExp(WORD_START + body, 'g') };
}

/**
 * Tokens of services that many people use. The prefixes are those that the services document; GitHub lists most of them:
 * https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
 */
export const TOKEN_PATTERNS: readonly TokenPattern[] = [
  // A digit within reach distinguishes a key from a name like sk-spinner-fading-circle.
  token('a key of a model provider', 'sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}'),
  token('a GitHub token', '(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})'),
  token('a GitLab token', 'gl(?:pat|cbt|dt|rt|soat)-[A-Za-z0-9_-]{20,}'),
  token('an AWS access key', '(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])'),
  token('a Slack token', 'xox[abeoprs]-[A-Za-z0-9-]{10,}'),
  token('a Google API key', 'AIza[A-Za-z0-9_-]{35}'),
  token('an npm token', 'npm_[A-Za-z0-9]{36}'),
  token('a PyPI token', 'pypi-[A-Za-z0-9_-]{50,}'),
  token('a token of a halo user', 'halo_[0-9a-z]{8}_[A-Za-z0-9_-]{40,}'),
  token('a Stripe key', '[rs]k_(?:live|test)_[A-Za-z0-9]{20,}'),
];

/** Whether a text may hold a token: one search instead of one for each shape. */
export function mayHoldToken(text: string): boolean {
  return BEGINNINGS.test(text);
}

const BEGINNINGS =
  /(?:sk-|sk_|rk_|gh[pousr]_|hub_pat_|gl[a-z]{2,4}-|A[KS]IA|xox|AIza|npm_|pypi-|halo_)[A-Za-z0-9_-]{7}/;

/** What a line looks like: a token, the beginning of a private key. Each once. */
export function findTokenNames(line: string): string[] {
  const tokens = mayHoldToken(line) ? TOKEN_PATTERNS.filter(({ pattern }) => line.search(pattern) >= 0) : [];
  const key = line.search(BLOCK_BEGIN) >= 0 ? [PRIVATE_KEY] : [];
  return [...tokens.map(({ name }) => name), ...key];
}

/** No service has longer ones; more of a run of such characters is not looked at again. */
export const MAX_TOKEN_LENGTH = 4096;

const BLOCK_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const BLOCK_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
export const PRIVATE_KEY = 'a private key';
/** Text this far after the beginning of a private key without an end is not part of it. */
const MAX_KEY_LENGTH = 64 * 1024;

/**
 * Finds what is between the first and the last line of private keys, also when they come in pieces of whole lines:
 * `[from, to)` of what belongs to a key in the next piece.
 */
export function openPrivateKeyFinder(): (text: string) => [from: number, to: number][] {
  /** Characters of the open block so far; undefined: none is open. */
  let open: number | undefined;
  return (text) => {
    const found: [number, number][] = [];
    let at = 0;
    for (;;) {
      if (open === undefined) {
        BLOCK_BEGIN.lastIndex = at;
        const begin = BLOCK_BEGIN.exec(text);
        if (begin === null) return found;
        at = begin.index + begin[0].length;
        open = 0;
      }
      BLOCK_END.lastIndex = at;
      const end = BLOCK_END.exec(text)?.index;
      const to = Math.min(end ?? text.length, at + MAX_KEY_LENGTH - open);
      if (to > at) found.push([at, to]);
      open += to - at;
      at = to;
      if (end !== to && open < MAX_KEY_LENGTH) return found;
      open = undefined;
    }
  };
}
