import type { ChangedFile } from './review.ts';

/** A line of a patch. Those of a hunk have their numbers in the file before and after. */
export interface PatchLine {
  /** `file`: the first line of a file; `head`: another line outside of hunks; `end`: git's note that a line has no end. */
  kind: 'file' | 'head' | 'hunk' | 'added' | 'removed' | 'same' | 'end';
  /** The sign before a line of a file; empty for other lines. */
  mark: string;
  /** Without mark and line end. */
  text: string;
  /** The line ends with CR LF, like all lines of its file in the patch. */
  returns?: true;
  old?: number;
  new?: number;
  /** The file ends with this line, without a line end. */
  isCut?: true;
}

export interface PatchHunk {
  /** The line ranges, as in `@@ -1,2 +1,3 @@`. */
  header: string;
  /** What git found above the hunk, such as the function that contains it. */
  heading: string;
  /** The content: added, removed and unchanged lines. */
  lines: PatchLine[];
}

/** A file of a patch. */
export interface PatchFile {
  path: string;
  /** Its earlier path, if it was renamed or copied. */
  from?: string;
  status: 'added' | 'removed' | 'renamed' | 'changed';
  /** Before and after, as in `100755`; undefined if the patch does not name it, since it has not changed. */
  modes: [before: string | undefined, after: string | undefined];
  /** The patch does not show its content. */
  isBinary: boolean;
  /** Its lines end with CR LF. */
  returns: boolean;
  hunks: PatchHunk[];
  added: number;
  removed: number;
}

export interface Patch {
  files: PatchFile[];
  /** All lines in their order; those of hunks are also in `files`. */
  lines: PatchLine[];
  /** The lines before the first file: halo notes there that it has cut off a patch. */
  notes: string[];
}

/**
 * Reads a patch of git. Within a hunk, each line of content has a sign, so none can pass for a header; what has no sign is
 * shown as well, since masked secrets may cover it. The counts of hunks are not used: a wrong one would hide lines.
 */
export function readPatch(patch: string): Patch {
  const read: Patch = { files: [], lines: [], notes: [] };
  let file: PatchFile | undefined;
  let hunk: PatchHunk | undefined;
  let [oldAt, newAt] = [0, 0];
  for (const text of patch === '' ? [] : patch.replace(/\n$/, '').split('\n')) {
    const kind = kindOfLine(text);
    const range = kind === 'hunk' && file !== undefined ? RANGE.exec(text) : null;
    let line: PatchLine = { kind: 'head', mark: '', text };
    if (kind === 'file') {
      line.kind = kind;
      file = newFile(text);
      hunk = undefined;
      read.files.push(file);
    } else if (range !== null) {
      line.kind = kind;
      const [, header = '', oldFrom, newFrom, heading = ''] = range;
      [oldAt, newAt] = [Number(oldFrom), Number(newFrom)];
      hunk = { header, heading, lines: [] };
      file?.hunks.push(hunk);
    } else if (file === undefined) read.notes.push(text);
    else if (hunk === undefined) readHeader(file, text);
    else if (kind === 'end') {
      line.kind = kind;
      const last = hunk.lines.at(-1);
      if (last !== undefined) last.isCut = true;
    } else {
      line = {
        kind: kind === 'added' || kind === 'removed' ? kind : 'same',
        mark: text.slice(0, 1),
        text: text.slice(1),
      };
      if (line.kind !== 'added') line.old = oldAt++;
      if (line.kind !== 'removed') line.new = newAt++;
      if (line.kind === 'added') file.added++;
      if (line.kind === 'removed') file.removed++;
      hunk.lines.push(line);
    }
    read.lines.push(line);
  }
  for (const each of read.files) markReturns(each);
  return read;
}

/** What a line of a patch is within a hunk. Without the lines before it, headers with a sign look like content. */
export function kindOfLine(text: string): PatchLine['kind'] {
  if (text.startsWith('diff --git ')) return 'file';
  switch (text[0]) {
    case '+':
      return 'added';
    case '-':
      return 'removed';
    case '\\':
      return 'end';
    case '@':
      return 'hunk';
    // git can be configured to print no sign before an empty line.
    case ' ':
    case undefined:
      return 'same';
    default:
      return 'head';
  }
}

/** A line as git printed it, without its line end. */
export function printedLine({ mark, text }: PatchLine): string {
  return mark + text;
}

/** The files of a patch with the numbers of their hunks and changed lines. */
export function toChangedFiles(files: readonly PatchFile[]): ChangedFile[] {
  return files.map(({ path, hunks, added, removed }) => ({ path, hunks: hunks.length, added, removed }));
}

/** With line numbers that are exact. */
const RANGE = /^(@@ -(\d{1,15})(?:,\d+)? \+(\d{1,15})(?:,\d+)? @@) ?(.*)/s;

function newFile(text: string): PatchFile {
  const rest = text.slice('diff --git '.length);
  // Headers below name the paths, except for files without lines, whose name is the same on both sides.
  const path = toPath(rest.slice(Math.ceil(rest.length / 2)));
  const modes: PatchFile['modes'] = [undefined, undefined];
  return { path, status: 'changed', modes, isBinary: false, returns: false, hunks: [], added: 0, removed: 0 };
}

const HEADER =
  /^(---|\+\+\+|rename from|rename to|copy from|copy to|new file mode|deleted file mode|old mode|new mode) (.*)/s;

function readHeader(file: PatchFile, text: string): void {
  const [, name = '', value = ''] = HEADER.exec(text) ?? [];
  switch (name) {
    case '---':
    case '+++':
      if (value !== '/dev/null' && (name === '+++' || file.from === undefined)) file.path = toPath(value);
      return;
    case 'rename from':
    case 'copy from':
      file.from = unquote(value);
      file.status = 'renamed';
      return;
    case 'rename to':
    case 'copy to':
      file.path = unquote(value);
      return;
    case 'new file mode':
      file.status = 'added';
      file.modes[1] = value;
      return;
    case 'deleted file mode':
      file.status = 'removed';
      file.modes[0] = value;
      return;
    case 'old mode':
      file.modes[0] = value;
      return;
    case 'new mode':
      file.modes[1] = value;
      return;
    default:
      if (text.startsWith('Binary files ')) file.isBinary = true;
  }
}

/** Marks the carriage returns of a file whose lines all end with CR LF. */
function markReturns(file: PatchFile): void {
  const ended = file.hunks.flatMap(({ lines }) => lines.filter(({ isCut }) => isCut !== true));
  if (ended.length === 0 || !ended.every(({ text }) => text.endsWith('\r'))) return;
  file.returns = true;
  for (const line of ended) {
    line.text = line.text.slice(0, -1);
    line.returns = true;
  }
}

/** The path in `b/path`. git adds a tab after a path with blanks. */
function toPath(text: string): string {
  return unquote(text.replace(/\t$/, '').trimStart()).replace(/^[ab]\//, '');
}

const ESCAPES: Record<string, string> = { a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' };

/** The path that git quotes because of its control characters, quotes or backslashes; bytes are octal. */
function unquote(text: string): string {
  const quoted = /^"(.*)"$/s.exec(text)?.[1];
  if (quoted === undefined) return text;
  return quoted.replace(/((?:\\[0-7]{3})+)|\\(.)/gs, (_, octal: string | undefined, letter = '') =>
    octal === undefined ? (ESCAPES[String(letter)] ?? String(letter)) : decodeOctal(octal),
  );
}

function decodeOctal(octal: string): string {
  return new TextDecoder().decode(Uint8Array.from(octal.slice(1).split('\\'), (digits) => parseInt(digits, 8)));
}
