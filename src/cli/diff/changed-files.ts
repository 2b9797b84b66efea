import type { ChangedFile } from '../../core/review/review.ts';
import { nameIn, readDiff } from '../../tui/diff/read-diff.ts';

/** The files of a git patch, with the numbers of their hunks and changed lines. */
export function changedFiles(patch: Uint8Array): ChangedFile[] {
  const files: ChangedFile[] = [];
  for (const { kind, text } of readDiff(patch).lines) {
    const file = files.at(-1);
    if (kind === 'head' && text.startsWith('diff --git '))
      files.push({ path: pathOf(text), hunks: 0, added: 0, removed: 0 });
    else if (file === undefined) continue;
    // The new path of a deleted file is /dev/null.
    else if (kind === 'head' && /^(?:---|\+\+\+) (?!\/dev\/null)/.test(text)) file.path = nameIn(text.slice(4));
    else if (kind === 'hunk') file.hunks += 1;
    else if (kind === 'added') file.added += 1;
    else if (kind === 'removed') file.removed += 1;
  }
  return files;
}

/** For a file without lines, such as a binary one. */
function pathOf(text: string): string {
  const rest = text.slice('diff --git '.length);
  return nameIn(rest.slice(Math.ceil(rest.length / 2)));
}
