import type { Line } from './line.ts';
import { trackSections, type Section } from './sections.ts';

/** A checkbox that is not part of another one, with what stands below it. */
export interface Box {
  line: Line;
  mark: string;
  markOffset: number;
  /** Its text, with the lines that go on with it. */
  text: string;
  /** Paragraphs below it. */
  paragraphs: string[];
  /** Deeper boxes and bullets. */
  below: string[];
  section: Section;
}

/** The bullets that a line can belong to, from the outside in; those outside of any box belong to none. */
type Nesting = { indent: number; box: Box | undefined }[];

/** The checkboxes of a file: those that are not inside of another one, in order. */
export function findBoxes(lines: Line[]): Box[] {
  const boxes: Box[] = [];
  const sections = trackSections();
  let nesting: Nesting = [];
  let afterBlank = false;
  for (const line of lines) {
    if (line.kind === 'heading') {
      sections.enter(line);
      nesting = [];
    } else if (line.kind === 'item') {
      while ((nesting.at(-1)?.indent ?? -1) >= line.indent) nesting.pop();
      const owner = nesting.findLast(({ box }) => box !== undefined)?.box;
      const box = owner ?? toBox(line, sections.current());
      if (owner !== undefined) owner.below.push(line.text);
      else if (box !== undefined) boxes.push(box);
      nesting.push({ indent: line.indent, box });
    } else if (line.kind === 'text') {
      if (afterBlank && line.indent === 0) nesting = [];
      continueBox(nesting, line.text, afterBlank);
    }
    afterBlank = line.kind === 'blank';
  }
  return boxes;
}

function toBox(line: Line, section: Section): Box | undefined {
  if (line.box === undefined) return undefined;
  const { mark, offset } = line.box;
  return { line, mark, markOffset: offset, text: line.text, paragraphs: [], below: [], section };
}

/** A line without a bullet goes on with what is above it; behind a blank line it is a paragraph of its own. */
function continueBox(nesting: Nesting, text: string, afterBlank: boolean): void {
  const box = nesting.at(-1)?.box;
  if (box === undefined) return;
  const last = box.below.length - 1;
  if (last >= 0) box.below[last] = `${box.below[last] ?? ''} ${text}`;
  else if (afterBlank) box.paragraphs.push(text);
  else if (box.paragraphs.length > 0) box.paragraphs.push(`${box.paragraphs.pop() ?? ''}\n${text}`);
  else box.text = `${box.text} ${text}`;
}
