import { Transform, Writable } from 'node:stream';
import { WRITE_AHEAD_BYTES, writeAhead } from '../streams.ts';
import { secretEncodings } from './encodings.ts';
import { compileMatcher } from './multi-pattern-matcher.ts';
import { compilePattern, openSearch, type Match, type Pattern, type Wanted } from './search.ts';

/**
 * Masks known secrets, in all common encodings, and text that looks like a secret. Own code instead of a library, because
 * matches must be found across chunks and line breaks of a byte stream that never ends, in time linear in its length.
 */
export interface Masker {
  /** Adds secrets; a secret of several lines is also masked line by line. */
  learn(secrets: Iterable<string>): void;
  /** Adds patterns that match within a line. Throws like compilePattern. */
  learnPatterns(sources: Iterable<string>): void;
  /** Replaces each byte of a secret with an asterisk. */
  text: (text: string) => string;
  /** Masks only known secrets: for code under review, where text that only looks like a secret must stay visible. */
  known(bytes: Uint8Array): Buffer;
  /** Masks all strings of a JSON value, except values of the keys in `except`. */
  value<T>(value: T, except?: ReadonlySet<string>): T;
  /** The same for bytes that may not be text. */
  bytes(bytes: Uint8Array): Buffer;
  /** The same for a stream, independent of its chunks; returns complete lines. */
  cleaner: () => { push: (chunk: Buffer) => Buffer; end: () => Buffer };
  stream(): Transform;
  /** Scans a stream without changing it. */
  scan(): Scan;
}

interface Scan {
  push(chunk: Buffer): void;
  /** The secrets that were found, without duplicates. */
  end(): Match[];
}

/** Shorter secrets would match unrelated text. */
const MIN_SECRET_LENGTH = 6;
/** A line of a key, as opposed to prose. */
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
    cleaner: () => openCleaner(wanted),
    stream: () => toStream(openCleaner(wanted)),
    scan: () => openScan(wanted),
  };
  return masker;
}

function openCleaner(wanted: () => Wanted): ReturnType<Masker['cleaner']> {
  const search = openSearch();
  return {
    push: (chunk) => search(chunk, wanted(), false).bytes,
    end: () => search(Buffer.alloc(0), wanted(), true).bytes,
  };
}

function toStream({ push, end }: ReturnType<Masker['cleaner']>): Transform {
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, push(chunk)),
    flush: (done) => done(null, end()),
  });
}

function openScan(wanted: () => Wanted): ReturnType<Masker['scan']> {
  const search = openSearch();
  const found = new Map<string, Match>();
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
}

function partsOf(secret: string): string[] {
  const whole = secret.trim();
  const lines = whole.includes('\n') ? whole.split(/\r?\n/).map((line) => line.trim()) : [];
  return [...(whole.length < MIN_SECRET_LENGTH ? [] : [whole]), ...lines.filter((line) => KEY_LINE.test(line))];
}

function compile(secrets: readonly string[], patterns: readonly Pattern[]): Wanted {
  return { needles: compileMatcher(secrets.flatMap(secretEncodings)), patterns, shapes: true };
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

/** A sink that masks secrets and writes to another sink, which it ends or destroys together with itself. */
export function maskingSink(masker: Masker, sink: Writable): Writable {
  const cleaner = masker.cleaner();
  const pass = (bytes: Buffer, done: (error?: Error | null) => void) => {
    if (bytes.length === 0) done();
    else writeAhead(sink, bytes, done);
  };
  const masked = new Writable({
    highWaterMark: WRITE_AHEAD_BYTES,
    write: (chunk: Buffer, _encoding, done) => pass(cleaner.push(chunk), done),
    final: (done) =>
      pass(cleaner.end(), (error) => {
        if (error) done(error);
        else sink.end(done);
      }),
    destroy: (error, done) => {
      sink.destroy();
      done(error);
    },
  });
  sink.on('error', (error) => masked.destroy(error));
  return masked;
}
