import { isUtf8 } from 'node:buffer';
import { countHidden } from '../../core/text/hidden-characters.ts';
import { collectHidden, type HiddenPlaces } from '../../core/text/hidden-places.ts';
import { findTokenNames } from '../../lib/secrets/token-patterns.ts';

export interface DiffLine {
  kind: 'head' | 'hunk' | 'added' | 'removed' | 'same';
  /** Without its line end. A byte that is not UTF-8 is a lone surrogate: `\udc00` plus the byte. */
  text: string;
  /** The line ends with CR LF, like all lines of its file in the patch. */
  returns: boolean;
}

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
  lines: DiffLine[];
  remarks: Remarks;
}

const LONG_LINE = 1000;

/**
 * Reads a git patch. The line counts of its headers separate headers from content, so that no content can pass for a
 * header.
 */
export function readDiff(patch: Uint8Array): ReadDiff {
  const texts = decode(patch).split('\n');
  if (texts.at(-1) === '') texts.pop();
  const lines: DiffLine[] = [];
  const hidden = collectHidden();
  const remarks: Remarks = { hidden: undefined, suspects: new Map(), binary: [], long: [] };
  let file: { path: string; body: DiffLine[] } = { path: '', body: [] };
  let [before, after, number] = [0, 0, 0];

  function remark(text: string): void {
    const place = `${file.path}:${number}`;
    const characters = countHidden(text, { startsFile: number === 1 });
    if (characters > 0) hidden.add(file.path, number, characters);
    if (text.length > LONG_LINE) remarks.long.push(place);
    for (const name of findTokenNames(text)) {
      const places = remarks.suspects.get(name);
      if (places === undefined) remarks.suspects.set(name, [place]);
      else places.push(place);
    }
  }

  for (const text of texts) {
    const isBody = before > 0 || after > 0;
    const line: DiffLine = { kind: isBody ? bodyKind(text) : 'head', text, returns: false };
    lines.push(line);
    if (text.startsWith('\\')) {
      // The previous line has no line end.
      file.body.pop();
      continue;
    }
    if (isBody) {
      file.body.push(line);
      if (line.kind !== 'added') before -= 1;
      if (line.kind === 'removed') continue;
      after -= 1;
      number += 1;
      if (line.kind === 'added') remark(text.slice(1));
      continue;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (hunk !== null) {
      line.kind = 'hunk';
      [before, after, number] = [Number(hunk[1] ?? 1), Number(hunk[3] ?? 1), Number(hunk[2]) - 1];
    } else if (text.startsWith('diff --git ')) {
      markReturns(file.body);
      file = { path: '', body: [] };
    } else if (text.startsWith('+++ ')) file.path = nameIn(text.slice(4));
    else if (text.startsWith('Binary files ')) remarks.binary.push(binaryName(text));
  }
  markReturns(file.body);
  remarks.hidden = hidden.all();
  return { lines, remarks };
}

function bodyKind(text: string): DiffLine['kind'] {
  if (text.startsWith('+')) return 'added';
  return text.startsWith('-') ? 'removed' : 'same';
}

/** Marks carriage returns, unless every line of the file ends with CR LF. */
function markReturns(body: DiffLine[]): void {
  if (!body.every(({ text }) => text.endsWith('\r'))) return;
  for (const line of body) {
    line.text = line.text.slice(0, -1);
    line.returns = true;
  }
}

/** The path in `b/path`. git quotes a path with control characters, and adds a tab after one with blanks. */
export function nameIn(text: string): string {
  const name = text.replace(/\t$/, '');
  const plain = /^"(.*)"$/.exec(name)?.[1]?.replace(/\\(["\\])/g, '$1') ?? name;
  return plain.replace(/^[ab]\//, '');
}

function binaryName(text: string): string {
  const [, before = '', after = ''] = /^Binary files (.*) and (.*) differ$/.exec(text) ?? [];
  return nameIn(after === '/dev/null' ? before : after);
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
