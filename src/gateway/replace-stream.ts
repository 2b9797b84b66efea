import { Transform } from 'node:stream';

export interface Replacement {
  from: string;
  to: string;
}

/** Replaces texts in a stream, also across chunk borders. No `from` may be a prefix of another one. */
export function replaceText(replacements: readonly Replacement[]): Transform {
  const longest = Math.max(1, ...replacements.map(({ from }) => from.length));
  const pattern = new RegExp(
    replacements.map(({ from }) => from.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|'),
    'g',
  );
  const meaning = new Map(replacements.map(({ from, to }) => [from, to]));
  let pending = '';
  // latin1 preserves every byte.
  const replaceUpTo = (end: number): Buffer => {
    let out = '';
    let at = 0;
    for (const match of pending.matchAll(pattern)) {
      if (match.index >= end) break;
      out += pending.slice(at, match.index) + (meaning.get(match[0]) ?? '');
      at = match.index + match[0].length;
    }
    const rest = Math.max(at, end);
    out += pending.slice(at, rest);
    pending = pending.slice(rest);
    return Buffer.from(out, 'latin1');
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pending += chunk.toString('latin1');
      done(null, replaceUpTo(Math.max(0, pending.length - longest + 1)));
    },
    flush(done) {
      done(null, replaceUpTo(pending.length));
    },
  });
}
