/** Puts `text` in the place of what stands from `from` up to `to`. */
export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** A text with all edits done; they must not overlap. */
export function applyEdits(text: string, edits: Edit[]): string {
  let edited = text;
  for (const { from, to, text: inserted } of [...edits].sort((a, b) => b.from - a.from)) {
    edited = edited.slice(0, from) + inserted + edited.slice(to);
  }
  return edited;
}
