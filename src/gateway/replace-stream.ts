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
  let held = '';
  // latin1 preserves every byte.
  const replaceUpTo = (end: number): Buffer => {
    let out = '';
    let at = 0;
    for (const match of held.matchAll(pattern)) {
      if (match.index >= end) break;
      out += held.slice(at, match.index) + (meaning.get(match[0]) ?? '');
      at = match.index + match[0].length;
    }
    const rest = Math.max(at, end);
    out += held.slice(at, rest);
    held = held.slice(rest);
    return Buffer.from(out, 'latin1');
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      held += chunk.toString('latin1');
      done(null, replaceUpTo(Math.max(0, held.length - longest + 1)));
    },
    flush(done) {
      done(null, replaceUpTo(held.length));
    },
  });
}
