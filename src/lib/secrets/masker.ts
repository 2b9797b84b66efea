import { Transform } from 'node:stream';
import { secretForms } from './encodings.ts';
import { compileWrapped } from './multi-pattern-matcher.ts';
import { compilePattern, type Pattern } from './user-patterns.ts';
import { openSearch, type Found, type Wanted } from './search.ts';

/** Makes secrets unreadable: those that it learned, in all common encodings, and what looks like one. */
export interface Masker {
  /** Learns secrets; each of them counts as a whole and, when it has several lines, line by line. */
  learn(secrets: Iterable<string>): void;
  /** Learns patterns that stay within a line. Throws like compilePattern. */
  learnPatterns(sources: Iterable<string>): void;
  /** As many asterisks as the secret had bytes stand for it. */
  text: (text: string) => string;
  /** Only what it learned, as bytes: for code that a person decides on, where what looks like a secret must stay. */
  known(bytes: Uint8Array): Buffer;
  /** A JSON value with each of its strings masked; what is below a key of `except` stays as it is. */
  value<T>(value: T, except?: ReadonlySet<string>): T;
  /** The same for bytes that need not be text. */
  bytes(bytes: Uint8Array): Buffer;
  /** The same for a stream, however it is cut; gives out whole lines. */
  cleaner: () => { push: (chunk: Buffer) => Buffer; end: () => Buffer };
  stream(): Transform;
  /** Looks through bytes as they come without changing them. */
  scan(): Scan;
}

export interface Scan {
  push(chunk: Buffer): void;
  /** What was found, each secret once. */
  end(): Found[];
}

/** A shorter text is no secret, but part of everything. */
const SHORTEST = 6;
/** What can be told from prose on a line of its own. */
const KEY_LINE = /^[A-Za-z0-9+/=_-]{24,}$/;

export function openMasker(): Masker {
  const secrets = new Set<string>();
  const patterns = new Map<string, Pattern>();
  let compiled: Wanted | undefined;
  const wanted = () => (compiled ??= compile([...secrets], [...patterns.values()]));

  const masker: Masker = {
    learn(more) {
      const before = secrets.size;
      for (const secret of more) for (const part of partsOf(secret)) secrets.add(part);
      if (secrets.size > before) compiled = undefined;
    },
    learnPatterns(sources) {
      for (const source of sources) {
        if (patterns.has(source)) continue;
        patterns.set(source, compilePattern(source));
        compiled = undefined;
      }
    },
    text(text) {
      const { bytes, found } = openSearch()(Buffer.from(text), wanted(), true);
      return found.length === 0 ? text : bytes.toString('utf8');
    },
    bytes: (bytes) => openSearch()(Buffer.from(bytes), wanted(), true).bytes,
    known: (bytes) => openSearch()(Buffer.from(bytes), { ...wanted(), patterns: [], shapes: false }, true).bytes,
    value(value, except) {
      return maskValue(value, { mask: masker.text, except }) as typeof value;
    },
    cleaner() {
      const search = openSearch();
      return {
        push: (chunk) => search(chunk, wanted(), false).bytes,
        end: () => search(Buffer.alloc(0), wanted(), true).bytes,
      };
    },
    stream() {
      const { push, end } = masker.cleaner();
      return new Transform({
        transform: (chunk: Buffer, _encoding, done) => done(null, push(chunk)),
        flush: (done) => done(null, end()),
      });
    },
    scan() {
      const search = openSearch();
      const found = new Map<string, Found>();
      const look = (chunk: Buffer, isLast: boolean) => {
        for (const each of search(chunk, wanted(), isLast).found) found.set(each.id, each);
      };
      return {
        push: (chunk) => look(chunk, false),
        end: () => {
          look(Buffer.alloc(0), true);
          return [...found.values()];
        },
      };
    },
  };
  return masker;
}

function partsOf(secret: string): string[] {
  const whole = secret.trim();
  const lines = whole.includes('\n') ? whole.split(/\r?\n/).map((line) => line.trim()) : [];
  return [...(whole.length < SHORTEST ? [] : [whole]), ...lines.filter((line) => KEY_LINE.test(line))];
}

function compile(secrets: readonly string[], patterns: readonly Pattern[]): Wanted {
  return { needles: compileWrapped(secrets.flatMap(secretForms)), patterns, shapes: true };
}

interface Masking {
  mask: (text: string) => string;
  except: ReadonlySet<string> | undefined;
}

function maskValue(value: unknown, masking: Masking): unknown {
  if (typeof value === 'string') return masking.mask(value);
  if (Array.isArray(value)) return value.map((item) => maskValue(item, masking));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      masking.except?.has(key) === true ? [key, inner] : [masking.mask(key), maskValue(inner, masking)],
    ),
  );
}
