import type { PatchFile, PatchHunk, PatchLine } from '../../core/review/read-patch.ts';

/** What the lines of a file do not show, such as a changed mode, a sentence each. */
export function describeFile({ status, modes, isBinary, returns }: PatchFile): string[] {
  const [before, after] = modes;
  return [
    ...(status === 'added' && after === '120000' ? ['It is a link.'] : []),
    ...(status === 'added' && after === '100755' ? ['It is executable.'] : []),
    ...(before === undefined || after === undefined ? [] : [`Its mode was ${before}.`, `Its mode is ${after}.`]),
    ...(isBinary ? ['It is a binary file.'] : []),
    ...(returns ? ['Its lines end with CR LF.'] : []),
  ];
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
