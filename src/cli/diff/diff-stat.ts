import { safeLine } from '../../core/text/safe-text.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';
import { stringWidth } from '../../lib/string-width.ts';
import { readFiles } from '../../tui/diff/read-diff.ts';

const GRAPH_WIDTH = 30;
const MAX_NAME_LENGTH = 400;

/** The names of the files of a patch. */
export function nameOnly(patch: Uint8Array): string[] {
  return readFiles(patch).map(({ path }) => safeLine(path, MAX_NAME_LENGTH));
}

/** The files of a patch with their numbers of changed lines, then the sum, like `git diff --stat`. */
export function statLines(patch: Uint8Array, paint: Paint): string[] {
  const files = readFiles(patch).map((file) => ({ ...file, name: safeLine(file.path, MAX_NAME_LENGTH) }));
  const nameWidth = Math.max(0, ...files.map(({ name }) => stringWidth(name)));
  const most = Math.max(1, ...files.map(({ added, removed }) => added + removed));
  const scale = (count: number) => (most <= GRAPH_WIDTH ? count : Math.ceil((count * GRAPH_WIDTH) / most));
  const digits = String(most).length;
  const sum = (of: 'added' | 'removed') => files.reduce((total, file) => total + file[of], 0);
  const counted = (count: number, what: string, mark: string) =>
    count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}(${mark})`];
  return [
    ...files.map(({ name, added, removed }) => {
      const graph = `${paint('good', '+'.repeat(scale(added)))}${paint('bad', '-'.repeat(scale(removed)))}`;
      const space = ' '.repeat(nameWidth - stringWidth(name));
      return ` ${name}${space} | ${String(added + removed).padStart(digits)} ${graph}`.trimEnd();
    }),
    ` ${[
      `${files.length} ${files.length === 1 ? 'file' : 'files'} changed`,
      ...counted(sum('added'), 'insertion', '+'),
      ...counted(sum('removed'), 'deletion', '-'),
    ].join(', ')}`,
  ];
}
