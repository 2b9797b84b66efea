/** A line of a diff, with its numbers in the file before and after. */
export interface PatchLine {
  kind: 'added' | 'removed' | 'same';
  text: string;
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
  lines: PatchLine[];
}

/** A file of a diff. */
export interface PatchFile {
  path: string;
  /** Its earlier path, if it was renamed or copied. */
  from?: string;
  status: 'added' | 'removed' | 'renamed' | 'changed';
  /** What is not in lines, such as a changed mode, a sentence each. */
  notes: string[];
  hunks: PatchHunk[];
  added: number;
  removed: number;
}

/**
 * Reads a git patch. The counts in the headers of hunks separate headers from content, so that no content can pass for a
 * header.
 */
export function readPatch(patch: string): PatchFile[] {
  const files: PatchFile[] = [];
  let [before, after, oldAt, newAt] = [0, 0, 0, 0];
  for (const text of patch.replace(/\n$/, '').split('\n')) {
    const file = files.at(-1);
    const lines = file?.hunks.at(-1)?.lines;
    if (text.startsWith('\\') && lines !== undefined) {
      const last = lines.at(-1);
      if (last !== undefined) last.isCut = true;
    } else if ((before > 0 || after > 0) && file !== undefined) {
      const kind = text.startsWith('+') ? 'added' : text.startsWith('-') ? 'removed' : 'same';
      const old = kind === 'added' ? {} : { old: oldAt++ };
      lines?.push({ kind, text: text.slice(1), ...old, ...(kind !== 'removed' && { new: newAt++ }) });
      if (kind !== 'added') before--;
      if (kind !== 'removed') after--;
      if (kind === 'added') file.added++;
      if (kind === 'removed') file.removed++;
    } else if (text.startsWith('diff --git ')) {
      const rest = text.slice('diff --git '.length);
      // Headers below name the paths, except for files without lines.
      const path = toPath(rest.slice(Math.ceil(rest.length / 2)));
      files.push({ path, status: 'changed', notes: [], hunks: [], added: 0, removed: 0 });
    } else if (file !== undefined) {
      const hunk = /^(@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@) ?(.*)/.exec(text);
      if (hunk === null) readHeader(file, text);
      else {
        [oldAt, before, newAt, after] = [Number(hunk[2]), Number(hunk[3] ?? 1), Number(hunk[4]), Number(hunk[5] ?? 1)];
        file.hunks.push({ header: hunk[1] ?? '', heading: hunk[6] ?? '', lines: [] });
      }
    }
  }
  for (const file of files) noteReturns(file);
  return files;
}

function readHeader(file: PatchFile, text: string): void {
  const [, name = '', value = ''] =
    /^(---|\+\+\+|rename from|rename to|copy from|copy to|new file mode|deleted file mode|old mode|new mode) (.*)/.exec(
      text,
    ) ?? [];
  if (name === '+++' && value !== '/dev/null') file.path = toPath(value);
  else if (name === '---' && value !== '/dev/null' && file.from === undefined) file.path = toPath(value);
  else if (name === 'rename from' || name === 'copy from') {
    file.from = unquote(value);
    file.status = 'renamed';
  } else if (name === 'rename to' || name === 'copy to') file.path = unquote(value);
  else if (name === 'new file mode') {
    file.status = 'added';
    if (value === '120000') file.notes.push('It is a link.');
    if (value === '100755') file.notes.push('It is executable.');
  } else if (name === 'deleted file mode') file.status = 'removed';
  else if (name === 'old mode' || name === 'new mode')
    file.notes.push(`${name === 'old mode' ? 'Its mode was' : 'Its mode is'} ${value}.`);
  else if (text.startsWith('Binary files ')) file.notes.push('It is a binary file.');
}

/** Removes the carriage returns of a file whose lines all end with CR LF, and notes them. */
function noteReturns(file: PatchFile): void {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  if (lines.length === 0 || !lines.every(({ text, isCut }) => text.endsWith('\r') || isCut === true)) return;
  if (!lines.some(({ text }) => text.endsWith('\r'))) return;
  for (const line of lines) line.text = line.text.replace(/\r$/, '');
  file.notes.push('Its lines end with CR LF.');
}

/** The path in `b/path`. git adds a tab after a path with blanks. */
function toPath(text: string): string {
  return unquote(text.replace(/\t$/, '').trimStart()).replace(/^[ab]\//, '');
}

const ESCAPES: Record<string, string> = { a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' };

/** The path that git quotes because of its control characters, quotes or backslashes. */
function unquote(text: string): string {
  const quoted = /^"(.*)"$/.exec(text)?.[1];
  if (quoted === undefined) return text;
  return quoted.replace(/\\(?:([0-7]{3})|(.))/g, (_, octal: string | undefined, letter = '') =>
    octal === undefined ? (ESCAPES[String(letter)] ?? String(letter)) : String.fromCharCode(parseInt(octal, 8)),
  );
}

/** The rows of a hunk: one line each, or side by side. */
export interface DiffRow {
  left?: PatchLine;
  right?: PatchLine;
}

/** The rows of the unified view: a line of the file after the change is on the right. */
export function toUnifiedRows({ lines }: PatchHunk): DiffRow[] {
  return lines.map((line) => (line.kind === 'removed' ? { left: line } : { right: line }));
}

/** The rows of the split view: removed lines on the left, beside the added lines that follow them. */
export function toSplitRows({ lines }: PatchHunk): DiffRow[] {
  const rows: DiffRow[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    if (line?.kind === 'same') {
      rows.push({ left: line, right: line });
      at++;
      continue;
    }
    const { removed, added, next } = readChange(lines, at);
    for (let index = 0; index < Math.max(removed.length, added.length); index++) {
      const [left, right] = [removed[index], added[index]];
      rows.push({ ...(left && { left }), ...(right && { right }) });
    }
    at = next;
  }
  return rows;
}

/** The removed lines from `at` on, and the added lines that follow them. */
function readChange(lines: readonly PatchLine[], at: number) {
  let next = at;
  while (lines[next]?.kind === 'removed') next++;
  const removed = lines.slice(at, next);
  const middle = next;
  while (lines[next]?.kind === 'added') next++;
  return { removed, added: lines.slice(middle, next), next };
}

/** The changed part of a line: from a character up to, not including, another one. */
export interface ChangedPart {
  from: number;
  to: number;
}

/** Lines that are compared with each other: longer ones would only cost time. */
const MAX_COMPARED = 500;

/** What changed within lines: of each removed line and the added one in its place, if much of them is the same. */
export function findChangedParts({ lines }: PatchHunk): Map<PatchLine, ChangedPart> {
  const found = new Map<PatchLine, ChangedPart>();
  for (let at = 0; at < lines.length;) {
    if (lines[at]?.kind === 'same') {
      at++;
      continue;
    }
    const { removed, added, next } = readChange(lines, at);
    at = next;
    for (const [index, before] of removed.entries()) {
      const after = added[index];
      if (after === undefined) continue;
      const parts = compareLines(before.text, after.text);
      if (parts === undefined) continue;
      found.set(before, parts.before);
      found.set(after, parts.after);
    }
  }
  return found;
}

function compareLines(before: string, after: string): { before: ChangedPart; after: ChangedPart } | undefined {
  if (before.length > MAX_COMPARED || after.length > MAX_COMPARED) return undefined;
  const [old, now] = [toWords(before), toWords(after)];
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const from = old.slice(0, start).join('').length;
  const rest = end === 0 ? 0 : old.slice(-end).join('').length;
  const same = (old.slice(0, start).join('') + (end === 0 ? '' : old.slice(-end).join(''))).trim().length;
  if (same * 3 < Math.max(before.trim().length, after.trim().length)) return undefined;
  return { before: { from, to: before.length - rest }, after: { from, to: after.length - rest } };
}

function toWords(text: string): string[] {
  return text.match(/\w+|\s+|[^\w\s]/gu) ?? [];
}
