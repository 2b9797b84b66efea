import type { Story } from '../../core/prd/prd.ts';
import { applyEdits, type Edit } from '../json/text-edits.ts';
import type { Checkbox } from '../markdown/checkboxes.ts';
import { readIssueBullets } from '../markdown/issue-bullets.ts';
import { scanMarkdown, type MarkdownDocument } from '../markdown/scan-markdown.ts';
import type { PlanChanges } from './plan-changes.ts';

/**
 * Replaces checkboxes, or bullets that name issues, that are stories; all other lines stay. New stories come after the last
 * open one. Undefined if the stories are neither. `write` returns a file with one story.
 */
export function replaceBoxes(
  document: MarkdownDocument,
  { replaced, added }: PlanChanges,
  write: (story: Story) => string,
): string | undefined {
  const { text, boxes } = readIssueBullets(document);
  const places = replaced.map(({ draft, story }) => ({
    box: boxes.find(({ line }) => draft.at.offset >= line.offset && draft.at.offset <= line.end),
    story,
  }));
  const last = boxes.findLast(({ mark }) => mark.trim() === '') ?? boxes.at(-1);
  if (last === undefined || places.some(({ box }) => box === undefined)) return undefined;
  const hasBullets = boxes.every(({ markOffset }) => markOffset === undefined);
  const body = (story: Story) => (hasBullets ? withoutBox(bodyOf(write(story))) : bodyOf(write(story)));
  const edits = places.flatMap(({ box, story }): Edit[] => {
    if (box === undefined) return [];
    const { from, to } = rangeOf(text, box);
    return [{ from, to, text: story === undefined ? '' : body(story) }];
  });
  if (added.length > 0) {
    const { from, to } = rangeOf(text, last);
    const existing = edits.find((edit) => edit.from === from);
    const before = existing?.text ?? withLineEnd(text.slice(from, to));
    const others = edits.filter((edit) => edit !== existing);
    return applyEdits(text, [...others, { from, to, text: `${before}${added.map(body).join('')}` }]);
  }
  return applyEdits(text, edits);
}

/** From the start of a story's first line to the start of the line after its last one. */
function rangeOf(text: string, { line, lines }: Checkbox): { from: number; to: number } {
  const end = Math.max(line.end, ...lines.filter(({ kind }) => kind !== 'blank').map((each) => each.end));
  const newline = text.indexOf('\n', end);
  return { from: line.offset, to: newline < 0 ? text.length : newline + 1 };
}

function bodyOf(file: string): string {
  const box = scanMarkdown(file).boxes[0];
  if (box === undefined) throw new Error('a written story was not found');
  const { from, to } = rangeOf(file, box);
  return withLineEnd(file.slice(from, to));
}

/** The bullet of a story that is written with a checkbox. */
function withoutBox(body: string): string {
  return body.replace(/^- \[.\] /, '- ');
}

function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
