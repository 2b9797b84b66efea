import { isUtf8 } from 'node:buffer';
import { readPatch, type Patch, type PatchFile } from '../../core/review/read-patch.ts';
import { countHidden } from '../../core/text/hidden-characters.ts';
import { collectHidden, type HiddenPlaces } from '../../core/text/hidden-places.ts';
import { findTokenNames } from '../../lib/secrets/token-patterns.ts';

/** Findings that a reviewer should know before a decision. */
export interface Remarks {
  /** Hidden characters in added lines. */
  hidden: HiddenPlaces | undefined;
  /** Possible secrets in added lines, with their places. */
  suspects: Map<string, string[]>;
  /** Files that the diff names without their content. */
  binary: string[];
  /** Added lines that are very long. */
  long: string[];
}

export interface ReadDiff {
  lines: Patch['lines'];
  remarks: Remarks;
}

const LONG_LINE = 1000;

/** Reads a patch for a terminal. A byte that is not UTF-8 becomes a lone surrogate: `\udc00` plus the byte. */
export function readDiff(bytes: Uint8Array): ReadDiff {
  const { files, lines } = readPatch(decode(bytes));
  return { lines, remarks: findRemarks(files) };
}

/** The files of a patch. */
export function readFiles(bytes: Uint8Array): PatchFile[] {
  return readPatch(decode(bytes)).files;
}

function findRemarks(files: readonly PatchFile[]): Remarks {
  const hidden = collectHidden();
  const suspects: Remarks['suspects'] = new Map();
  const long: string[] = [];
  for (const { path, hunks } of files)
    for (const { kind, text, returns, new: number = 0 } of hunks.flatMap(({ lines }) => lines)) {
      if (kind !== 'added') continue;
      const place = `${path}:${number}`;
      const characters = countHidden(text, { startsFile: number === 1 });
      if (characters > 0) hidden.add(path, number, characters);
      if (text.length + (returns ? 1 : 0) > LONG_LINE) long.push(place);
      for (const name of findTokenNames(text)) {
        const places = suspects.get(name);
        if (places === undefined) suspects.set(name, [place]);
        else places.push(place);
      }
    }
  const binary = files.filter(({ isBinary }) => isBinary).map(({ path }) => path);
  return { hidden: hidden.all(), suspects, binary, long };
}

/** One UTF-8 character, or several ASCII characters, as bytes. */
const VALID = [
  '[\\x00-\\x7f]+|[\\xc2-\\xdf][\\x80-\\xbf]',
  '\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}|\\xed[\\x80-\\x9f][\\x80-\\xbf]',
  '\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}|\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}',
].join('|');
const PIECES = new RegExp(`(${VALID})|[\\x80-\\xff]`, 'g');

function decode(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  return buffer
    .toString('latin1')
    .replace(PIECES, (piece, valid?: string) =>
      valid === undefined
        ? String.fromCharCode(0xdc00 + piece.charCodeAt(0))
        : Buffer.from(valid, 'latin1').toString('utf8'),
    );
}
