import type { StoryStatus } from '../../../core/prd/prd.ts';
import type { Draft, DraftStory, ProgressMark } from '../../dialect.ts';
import { type Diagnostics, exceedsStoryLimit } from '../../diagnostics.ts';
import { findIdProblem, renameDoneDuplicates, makeIdsUnique } from '../../story/story-ids.ts';
import { addWarning } from '../../json/object-reader.ts';
import { rankOfWord } from '../../story/read-priority.ts';
import { isLifeCycleWord, leadOf, saysMoreThanStatus, statusOfWord } from '../../story/read-status.ts';
import { warnIfSkipped, priorityOf } from '../sections.ts';
import { linkReferences, resolver } from '../markdown-dependencies.ts';
import { slugOf } from '../leading-id.ts';
import { groupOf, headingsOf } from '../outline.ts';
import { linesOf, placeOf, type MarkdownDocument } from '../scan-markdown.ts';
import { isTracked } from './headings-without-criteria.ts';
import { isCriteriaLine } from '../labels.ts';
import { findStoryHeadings } from './story-headings.ts';
import type { StoryHeading } from './heading.ts';
import { readSurroundings } from '../read-surroundings.ts';
import { splitStory, type StoryParts } from '../split-story.ts';
import { defined } from '../../../lib/guards.ts';

/** Reads a file whose headings are the stories and whose lists below "Acceptance Criteria" are their criteria. */
export function readStoryHeadings(document: MarkdownDocument, diagnostics: Diagnostics): Draft {
  for (const text of document.ignored) addWarning({ diagnostics }, undefined, text);
  const headings = findStoryHeadings(document);
  if (exceedsStoryLimit(headings.length, diagnostics)) return { project: '', description: '', stories: [], about: [] };
  const read = headings.map((story): Part => ({ ...story, parts: splitStory(story.lines) }));
  const sign = headings.map((heading) => heading.sign).find((each) => each?.kind === 'done')?.text;
  const drafts = makeIdsUnique(read.map((part) => ({ ...toDraft(part, diagnostics), mark: markOf(part, sign) })));
  const linking = { resolve: resolver(drafts), diagnostics };
  const linked = drafts.map((draft, index) => linkReferences(draft, read[index]?.parts.references ?? [], linking));
  warnOfOtherBoxes(document, { read, diagnostics });
  warnOfGuess(read, diagnostics);
  const surroundings = readSurroundings(document, {
    sections: headings.map(({ section }) => section),
    used: new Set(headings.flatMap(({ lines }) => lines)),
    diagnostics,
  });
  return { ...surroundings, stories: renameDoneDuplicates(linked, diagnostics) };
}

interface Part extends StoryHeading {
  parts: StoryParts;
}

function toDraft(part: Part, diagnostics: Diagnostics): Omit<DraftStory, 'mark'> {
  const { heading, section, title, parts } = part;
  const at = placeOf(heading);
  const id = part.id ?? slugOf(title);
  const fault = findIdProblem(id);
  if (fault !== undefined) diagnostics.problems.push({ ...at, rule: `the id ${fault}` });
  const acceptance = parts.criteria.filter((each) => each !== '');
  if (acceptance.length === 0) addWarning({ diagnostics }, id, 'no acceptance criteria');
  // The agent gets the explanation.
  if (parts.status !== undefined && saysMoreThanStatus(parts.status.value))
    parts.extra.set('Status', parts.status.value);
  const headings = headingsOf(section).slice(section.isTitle ? 0 : 1);
  const group = groupOf(headings);
  const priority = readPriority(parts, id, diagnostics) ?? priorityOf(headings);
  return {
    id,
    ownId: part.id,
    title,
    description: parts.description,
    acceptance,
    priority,
    status: readStatus(part, id, diagnostics),
    notes: parts.notes,
    dependsOn: [],
    extra: { ...defined({ group }), ...Object.fromEntries(parts.extra) },
    at,
  };
}

/** Ticked checkboxes and a mark in the heading take precedence over the status word. */
function readStatus({ sign, section, isDropped, parts }: Part, id: string, diagnostics: Diagnostics): StoryStatus {
  const { boxes, status: word } = parts;
  const isTicked = boxes.length > 0 && boxes.every(({ mark }) => mark.toLowerCase() === 'x');
  const isMarked = sign?.kind === 'done' || sign?.box.mark.toLowerCase() === 'x';
  const said = word === undefined ? undefined : readWord(word.value, id, diagnostics);
  if (isTicked || isMarked) {
    if (said !== undefined && said !== 'done')
      addWarning(
        { diagnostics },
        id,
        `${isTicked ? 'the checkboxes are' : 'the mark of the heading is'} done but the status is not; treated as done`,
      );
    return 'done';
  }
  if (said === 'done') {
    if (boxes.length > 0)
      addWarning({ diagnostics }, id, 'the status is done but the checkboxes are not; treated as done');
    return 'done';
  }
  const headings = headingsOf(section).slice(section.isTitle ? 0 : 1);
  if (warnIfSkipped({ headings, isDropped }, id, diagnostics)) return 'skipped';
  return said ?? 'pending';
}

function readWord(value: string, id: string, diagnostics: Diagnostics): StoryStatus | undefined {
  const status = statusOfWord(value);
  if (status !== undefined || isLifeCycleWord(value)) return status;
  addWarning({ diagnostics }, id, `unknown status "${value}", treated as pending`);
  return 'pending';
}

/** `usual`: the sign that done headings of the file have. */
function markOf({ heading, sign, parts: { boxes, status } }: Part, usual: string | undefined): ProgressMark {
  const own = sign?.kind === 'box' ? [sign.box] : [];
  const word = status === undefined || status.value === '' ? undefined : placeOfWord(status);
  return {
    kind: 'boxes',
    boxes: [...own, ...boxes].map(({ offset }) => offset),
    headingEnd: heading.offset + heading.raw.replace(/(?<!\s)\s+#+$/, '').length,
    ...defined({ word, sign: usual }),
  };
}

/** Locates the value after the word "status" on its line. */
function placeOfWord({ value, line }: NonNullable<StoryParts['status']>): { from: number; to: number; text: string } {
  const label = /stat(?:us|e)\b/i.exec(line.raw)?.index ?? 0;
  const from = line.offset + line.raw.indexOf(value, label + 5);
  const text = statusOfWord(leadOf(value)) === undefined ? value : leadOf(value);
  return { from, to: from + text.length, text };
}

function readPriority({ priority: text, extra }: StoryParts, id: string, diagnostics: Diagnostics): number | undefined {
  if (text === undefined || text === '') return undefined;
  const word = /^[\w.]{1,20}/.exec(text.replace(/^[^\p{L}\p{N}]+/u, ''))?.[0] ?? '';
  if (word.length < text.length) extra.set('Priority', text);
  const priority = /^\d{1,9}(?:\.\d{1,9})?$/.test(word) ? Number(word) : rankOfWord(word);
  if (priority === undefined) addWarning({ diagnostics }, id, `unknown priority "${text}", so the story runs last`);
  return priority;
}

/** Without criteria labels, the checkboxes could be stories, too, unless the headings have a status or dependencies. */
function warnOfGuess(read: Part[], diagnostics: Diagnostics): void {
  if (read.some(({ lines }) => lines.some(isCriteriaLine)) || read.every(isTracked)) return;
  if (read.every(({ parts }) => parts.boxes.length === 0)) return;
  addWarning(
    { diagnostics },
    undefined,
    'the headings are read as stories and the checkboxes below them as criteria; no line says "Acceptance Criteria"',
  );
}

/** Warns about checkboxes that are neither stories nor criteria. */
function warnOfOtherBoxes(
  { lines }: MarkdownDocument,
  { read, diagnostics }: { read: Part[]; diagnostics: Diagnostics },
): void {
  const inside = read.flatMap(({ parts }) => parts.otherBoxes);
  const used = new Set(read.flatMap((part) => part.lines));
  const outside = lines.filter((line) => line.box !== undefined && !used.has(line));
  if (inside.length > 0)
    addWarning(
      { diagnostics },
      undefined,
      `checkboxes outside of acceptance criteria are treated as text: ${linesOf(inside)}`,
    );
  if (outside.length > 0)
    addWarning({ diagnostics }, undefined, `checkboxes outside of stories are treated as text: ${linesOf(outside)}`);
}
