import { isTestPath } from '../../core/review/review.ts';
import type { PatchFile } from './read-patch.ts';
import type { Place } from './review-state.ts';

/** Where the diff adds or changes the test with this name, as reports write it: suites, then the title. */
export function findTestPlace(files: readonly PatchFile[], test: string): Place | undefined {
  const title = (test.split(/::| > /).at(-1) ?? '').replace(/\[[^[\]]*\]$/, '').trim();
  if (title === '') return undefined;
  for (const { path, hunks } of files.filter((file) => isTestPath(file.path)))
    for (const { lines } of hunks) {
      const line = lines.find(({ kind, text }) => kind === 'added' && text.includes(title))?.new;
      if (line !== undefined) return { path, side: 'new', line };
    }
  return undefined;
}

/** The first changed line of a file that an agent names, by its path or the end of it. */
export function findFilePlace(files: readonly PatchFile[], name: string): Place | undefined {
  const file = files.find(({ path }) => path === name || path.endsWith(`/${name}`));
  const line = file?.hunks.flatMap(({ lines }) => lines).find(({ kind }) => kind !== 'same');
  if (file === undefined || line === undefined) return undefined;
  return line.new === undefined
    ? { path: file.path, side: 'old', line: line.old ?? 1 }
    : { path: file.path, side: 'new', line: line.new };
}
