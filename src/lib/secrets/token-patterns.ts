/** A kind of secret that is known by what it looks like. */
interface TokenPattern {
  /** The id of the rule, as in `secrets.allow`. */
  rule: string;
  /** For people. */
  name: string;
  /** Global, and linear in the text: each begins at the start of a word and has no choice on the way. */
  pattern: RegExp;
  /** What matches begin with. At least three characters, so that few other texts begin alike. */
  beginnings: readonly string[];
}

const WORD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';
const WORD_START = '(?<![A-Za-z0-9_-])';

function token([rule, name]: [rule: string, name: string], beginnings: readonly string[], rest: string): TokenPattern {
  return { rule, name, beginnings, pattern: new RegExp(`${WORD_START}(?:${beginnings.join('|')})${rest}`, 'g') };
}

/**
 * Tokens of services that many people use. The prefixes are those that the services document; GitHub lists most of them:
 * https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
 */
export const TOKEN_PATTERNS: readonly TokenPattern[] = [
  modelKey(),
  token(['github-token', 'a GitHub token'], ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], '[A-Za-z0-9]{36,}'),
  token(['github-token', 'a GitHub token'], ['github_pat_'], '[A-Za-z0-9_]{22,}'),
  token(['gitlab-token', 'a GitLab token'], ['glpat-', 'glcbt-', 'gldt-', 'glrt-', 'glsoat-'], '[A-Za-z0-9_-]{20,}'),
  token(['aws-access-key', 'an AWS access key'], ['AKIA', 'ASIA'], '[A-Z0-9]{16}(?![A-Za-z0-9])'),
  token(
    ['slack-token', 'a Slack token'],
    ['xoxa-', 'xoxb-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-'],
    '[A-Za-z0-9-]{10,}',
  ),
  token(['google-api-key', 'a Google API key'], ['AIza'], '[A-Za-z0-9_-]{35}'),
  token(['npm-token', 'an npm token'], ['npm_'], '[A-Za-z0-9]{36}'),
  token(['pypi-token', 'a PyPI token'], ['pypi-'], '[A-Za-z0-9_-]{50,}'),
  token(['halo-token', 'a token of a halo user'], ['halo_'], '[0-9a-z]{8}_[A-Za-z0-9_-]{40,}'),
  token(['stripe-key', 'a Stripe key'], ['rk_live_', 'rk_test_', 'sk_live_', 'sk_test_'], '[A-Za-z0-9]{20,}'),
];

/** A digit within reach distinguishes a key from a name like sk-spinner-fading-circle. */
function modelKey(): TokenPattern {
  const pattern = new RegExp(`${WORD_START}sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}`, 'g');
  return { rule: 'model-key', name: 'a key of a model provider', beginnings: ['sk-'], pattern };
}

const WORD_BYTES = [...Buffer.from(WORD)];
const BREAKS = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => !WORD_BYTES.includes(byte));

const LENGTH = 5;

/** Whether bytes may hold a token or the beginning of a private key: one search instead of one for each shape. */
export function mayHoldShape(data: Buffer): boolean {
  shapes ??= compileShapeFilter([
    ...TOKEN_PATTERNS.flatMap(({ beginnings }) => beginnings.map(toShape)),
    [...'BEGIN'].map((char) => [char.charCodeAt(0)]),
  ]);
  return shapes(data);
}

/** Compiled with the first search: many commands search nothing. */
let shapes: ((data: Buffer) => boolean) | undefined;

/** The beginning of a word, as far as it fits. */
function toShape(beginning: string): ByteShape {
  const at = (index: number) => (index < beginning.length ? [beginning.charCodeAt(index)] : WORD_BYTES);
  return [BREAKS, at(0), at(1), at(2), at(3)];
}

/** What a line looks like: a token, the beginning of a private key. Each once. */
export function findTokenNames(line: string): string[] {
  if (!mayHoldShape(Buffer.from(line))) return [];
  const tokens = TOKEN_PATTERNS.filter(({ pattern }) => line.search(pattern) >= 0).map(({ name }) => name);
  const key = line.search(BLOCK_BEGIN) >= 0 ? [PRIVATE_KEY.name] : [];
  return [...new Set([...tokens, ...key])];
}

/** No service has longer ones; more of a run of such characters is not looked at again. */
export const MAX_TOKEN_LENGTH = 4096;

const BLOCK_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const BLOCK_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
export const PRIVATE_KEY = { rule: 'private-key', name: 'a private key' };
/** Text this far after the beginning of a private key without an end is not part of it. */
const MAX_KEY_LENGTH = 64 * 1024;

/** Finds private keys in text that comes in pieces of whole lines. */
interface PrivateKeyFinder {
  /** `[from, to)` of what is between the first and the last line of a key, as far as it is in this piece. */
  find(text: string): [from: number, to: number][];
  /** Whether a key began that has not ended yet. */
  isOpen(): boolean;
}

export function openPrivateKeyFinder(): PrivateKeyFinder {
  /** Characters of the open block so far; undefined: none is open. */
  let open: number | undefined;
  const find = (text: string): [from: number, to: number][] => {
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
  return { find, isOpen: () => open !== undefined };
}

/** What each of five bytes in a row may be. */
type ByteShape = readonly (readonly number[])[];

/**
 * Compiles a search for places where bytes have one of these shapes; a place before the first byte counts as any byte. It
 * says only whether there may be one, in about half a nanosecond per byte: it looks up every second of the pairs of
 * bytes at even places, because five bytes always contain one of those.
 */
export function compileShapeFilter(shapes: readonly ByteShape[]): (data: Buffer) => boolean {
  /** For each pair of bytes, where in a shape it may be: a bit for each of the four places. */
  const places = new Uint8Array(65_536);
  for (const shape of shapes)
    for (let place = 0; place < LENGTH - 1; place++)
      for (const first of shape[place]!)
        for (const second of shape[place + 1]!) places[pairOf(first, second)]! |= 1 << place;

  const sets = shapes.map((shape) => shape.map((bytes) => new Set(bytes)));
  const hasShapeAt = (data: Buffer, from: number): boolean =>
    sets.some((shape) => shape.every((bytes, at) => from + at < 0 || bytes.has(data[from + at]!)));
  const hasShapeWithin = (data: Buffer, first: number, last: number): boolean => {
    for (let from = first; from <= last; from++) if (hasShapeAt(data, from)) return true;
    return false;
  };

  return (data) => {
    if (hasShapeAt(data, -1)) return true;
    if (data.length < LENGTH) return false;
    const odd = data.byteOffset % 2;
    const pairs = new Uint16Array(data.buffer, data.byteOffset + odd, (data.length - odd) >> 1);
    // The loop never reads beyond the pairs, which would make it slower; the last bytes come after it.
    const end = pairs.length - 1;
    for (let at = 1; at < end; at += 2) {
      const here = places[pairs[at]!]!;
      if (here === 0) continue;
      // Four of the five bytes are this pair and the one after or before it.
      const fits = (here & (places[pairs[at + 1]!]! >> 2)) | ((here >> 2) & places[pairs[at - 1]!]!);
      const place = odd + 2 * at;
      if (fits !== 0 && hasShapeWithin(data, place - 3, Math.min(place, data.length - LENGTH))) return true;
    }
    return hasShapeWithin(data, Math.max(0, data.length - LENGTH - 1), data.length - LENGTH);
  };
}

/** Two bytes as the machine reads them from memory. */
function pairOf(first: number, second: number): number {
  return new Uint16Array(Uint8Array.of(first, second).buffer)[0]!;
}
