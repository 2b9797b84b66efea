/** Replaces the characters from `from` (inclusive) to `to` (exclusive) with `text`. */
export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** Applies edits to a text. They must not overlap. */
export function applyEdits(text: string, edits: Edit[]): string {
  let edited = text;
  for (const { from, to, text: inserted } of [...edits].sort((a, b) => b.from - a.from)) {
    edited = edited.slice(0, from) + inserted + edited.slice(to);
  }
  return edited;
}
