import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import type * as Re2js from 're2js';

/** A user's pattern. Matching is linear in the text for any pattern (RE2). */
export interface Pattern {
  source: string;
  /** `[from, to)` in bytes of each match. */
  find(data: Buffer): [from: number, to: number][];
}

/** Throws an Error that explains what is wrong with a pattern, also with one that matches the empty string. */
export function compilePattern(source: string): Pattern {
  // Most processes have no pattern, and it takes long to load.
  const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof Re2js;
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
