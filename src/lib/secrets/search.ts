import { isUtf8 } from 'node:buffer';
import { defined } from '../guards.ts';
import { joinBuffers } from '../streams.ts';
import type { PatternMatcher } from './multi-pattern-matcher.ts';
import { MAX_TOKEN_LENGTH, mayHoldShape, openPrivateKeyFinder, PRIVATE_KEY, TOKEN_PATTERNS } from './token-patterns.ts';
import { loadRe2 } from '../re2.ts';

/** What is searched for. */
export interface Wanted {
  needles: PatternMatcher;
  patterns: readonly Pattern[];
  /** Whether what only looks like a secret is one. */
  shapes: boolean;
}

/** What was found: a secret of the worker's (`known`), what a pattern of the user's describes, or what looks like one. */
export interface Match {
  kind: 'known' | 'pattern' | 'shape';
  /** For people. */
  name: string;
  /** The id of the rule that takes it for a secret. */
  rule?: string;
  /** The same secret has the same id; may hold it. */
  id: string;
}

interface Searched {
  /** What is done, in order, with asterisks in place of secrets. */
  bytes: Buffer;
  found: Match[];
}

/** A longer line is searched in parts. */
const MAX_LINE_BYTES = 64 * 1024;

/**
 * Searches a stream for secrets. It looks at whole lines, so that nothing is missed where the stream is cut into
 * pieces: a line that has only begun is held back, and so is what may be the beginning of a secret that continues in the
 * next one. `wanted` may differ from call to call.
 */
export function openSearch(): (chunk: Buffer, wanted: Wanted, isLast: boolean) => Searched {
  const blocks = openPrivateKeyFinder();
  let pending: Buffer[] = [];
  let size = 0;
  /** Whether the last byte that was given out belongs to a token that may continue. */
  let inToken = false;

  return (chunk, wanted, isLast) => {
    pending.push(chunk);
    size += chunk.length;
    if (!isLast && size <= MAX_LINE_BYTES && !chunk.includes(LF)) return { bytes: Buffer.alloc(0), found: [] };
    const cover = openCover(joinBuffers(pending));
    wanted.needles.find(cover.bytes(), (from, to, secret) =>
      cover.add('known', { name: `secret ${secret}` }, [from, to]),
    );
    const done = isLast ? size : endOfDone(cover.bytes(), wanted);
    const rest = cover.bytes().subarray(done);
    pending = rest.length === 0 ? [] : [rest];
    size = rest.length;
    const whole = cover.bytes().subarray(0, done);
    for (const pattern of wanted.patterns)
      for (const range of pattern.find(whole)) cover.add('pattern', { name: `what matches ${pattern.source}` }, range);
    if (wanted.shapes && whole.length > 0) coverShapes(cover, whole);
    return { bytes: cover.bytes().subarray(0, done), found: cover.found };
  };

  function coverShapes(cover: Cover, whole: Buffer): void {
    if (!inToken && !blocks.isOpen() && !mayHoldShape(whole)) return;
    const text = whole.toString('latin1');
    const tokenEnd = inToken ? (/^[\w-]*/.exec(text)?.[0].length ?? 0) : 0;
    if (tokenEnd > 0) cover.add('shape', LONG_TOKEN, [0, tokenEnd]);
    inToken = tokenEnd === text.length;
    for (const token of TOKEN_PATTERNS) {
      for (const match of text.matchAll(token.pattern)) {
        const to = match.index + match[0].length;
        cover.add('shape', token, [match.index, to]);
        inToken ||= to === text.length;
      }
    }
    for (const range of blocks.find(text)) cover.add('shape', PRIVATE_KEY, range);
  }
}

/** More of a token that continues in the next piece of a stream. */
const LONG_TOKEN = { rule: 'token', name: 'a token' };

const [LF, CR, ASTERISK] = [0x0a, 0x0d, 0x2a];

interface Cover {
  bytes(): Buffer;
  found: Match[];
  add(kind: Match['kind'], what: Pick<Match, 'name' | 'rule'>, range: readonly [from: number, to: number]): void;
}

/** Puts asterisks over ranges of bytes, in a copy; line ends stay, so that lines remain lines. */
function openCover(original: Buffer): Cover {
  const found: Match[] = [];
  let bytes = original;
  return {
    bytes: () => bytes,
    found,
    add(kind, { name, rule }, [from, to]) {
      const id = kind === 'known' ? name : `${name}: ${bytes.toString('latin1', from, to)}`;
      found.push({ kind, name, id, ...defined({ rule }) });
      if (bytes === original) bytes = Buffer.from(original);
      for (let at = from; at < to; at++) if (bytes[at] !== LF && bytes[at] !== CR) bytes[at] = ASTERISK;
    },
  };
}

/** Up to where nothing depends on what comes next; a line that is too long to wait for is cut between two words. */
function endOfDone(data: Buffer, { needles }: Wanted): number {
  const sure = needles.beginning(data);
  const lines = sure === 0 ? 0 : data.lastIndexOf(LF, sure - 1) + 1;
  if (data.length - lines <= MAX_LINE_BYTES) return lines;
  const tail = data.toString('latin1', Math.max(0, sure - MAX_TOKEN_LENGTH), sure);
  const token = /(?<![\w-])[\w-]+$/.exec(tail)?.[0].length ?? 0;
  return token < tail.length ? sure - token : sure;
}

/** A user's pattern. Matching is linear in the text for any pattern (RE2). */
export interface Pattern {
  source: string;
  /** `[from, to)` in bytes of each match. */
  find(data: Buffer): [from: number, to: number][];
}

/** Throws an Error that explains what is wrong with a pattern, also with one that matches the empty string. */
export function compilePattern(source: string): Pattern {
  const RE2JS = loadRe2();
  const compiled = RE2JS.compile(source, RE2JS.MULTILINE);
  if (compiled.matcher('').find()) throw new Error('it matches the empty text');
  return {
    source,
    find(data) {
      const encoding = isUtf8(data) ? 'utf8' : 'latin1';
      const text = data.toString(encoding);
      const matcher = compiled.matcher(text);
      const found: [number, number][] = [];
      let [character, byte] = [0, 0];
      const toByte = (to: number) => {
        byte += Buffer.byteLength(text.slice(character, to), encoding);
        character = to;
        return byte;
      };
      while (matcher.find())
        if (matcher.end() > matcher.start()) found.push([toByte(matcher.start()), toByte(matcher.end())]);
      return found;
    },
  };
}
