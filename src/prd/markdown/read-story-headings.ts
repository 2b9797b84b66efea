import type { StoryStatus } from '../../core/prd/prd.ts';
import type { Draft, DraftStory, Mark } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { findIdFault, renameDoneDuplicates } from '../ids.ts';
import { isTooMany } from '../limits.ts';
import { addWarning } from '../json/object-reader.ts';
import { rankOfWord } from '../story/read-priority.ts';
import { isLifeCycleWord, leadOf, statusOfWord } from '../story/read-status.ts';
import { tellWhyAside } from './aside.ts';
import { linkReferences, resolver } from './markdown-dependencies.ts';
import { slugOf } from './leading-id.ts';
import { nameRest } from './name-rest.ts';
import { groupOf, headingsOf } from './outline.ts';
import { linesOf, placeOf, type MarkdownDocument } from './scan-markdown.ts';
import { priorityOf } from './sections.ts';
import { findStoryHeadings, type StoryHeading } from './story-headings.ts';
import { readSurroundings } from './read-surroundings.ts';
import { takeApart, type Parts } from './split-story.ts';

/** Reads a file whose headings are the stories and whose lists below "Acceptance Criteria" are their criteria. */
export function readStoryHeadings(document: MarkdownDocument, findings: Findings): Draft {
  for (const text of document.ignored) addWarning({ findings }, undefined, text);
  const headings = findStoryHeadings(document);
  if (isTooMany(headings.length, findings)) return { project: '', description: '', stories: [], about: [] };
  const read = headings.map((story): Part => ({ ...story, parts: takeApart(story.lines) }));
  const drafts = nameRest(read.map((part) => toDraft(part, findings)));
  const linking = { resolve: resolver(drafts), findings };
  const linked = drafts.map((draft, index) => linkReferences(draft, read[index]?.parts.references ?? [], linking));
  tellOfOtherBoxes(document, { read, findings });
  const surroundings = readSurroundings(document, {
    sections: headings.map(({ section }) => section),
    used: new Set(headings.flatMap(({ lines }) => lines)),
    findings,
  });
  return { ...surroundings, stories: renameDoneDuplicates(linked, findings) };
}

interface Part extends StoryHeading {
  parts: Parts;
}

function toDraft(part: Part, findings: Findings): DraftStory {
  const { heading, section, title, parts } = part;
  const at = placeOf(heading);
  const id = part.id ?? slugOf(title);
  const fault = findIdFault(id);
  if (fault !== undefined) findings.problems.push({ ...at, rule: `the id ${fault}` });
  const acceptance = parts.criteria.filter((each) => each !== '');
  if (acceptance.length === 0) addWarning({ findings }, id, 'no acceptance criteria');
  // Why it stands so is for the agent to know.
  if (parts.status !== undefined && leadOf(parts.status.value) !== parts.status.value)
    parts.extra.set('Status', parts.status.value);
  const headings = headingsOf(section).slice(section.isTitle ? 0 : 1);
  const group = groupOf(headings);
  const priority = readPriority(parts, id, findings) ?? priorityOf(headings);
  return {
    id,
    ownId: part.id,
    title,
    description: parts.description,
    acceptance,
    priority,
    status: readStatus(part, id, findings),
    notes: parts.notes,
    dependsOn: [],
    extra: { ...(group === undefined ? {} : { group }), ...Object.fromEntries(parts.extra) },
    at,
    mark: markOf(part),
  };
}

/** Ticked boxes and the sign on the heading go before the word. */
function readStatus({ heading, section, isDropped, parts }: Part, id: string, findings: Findings): StoryStatus {
  const { boxes, status: word } = parts;
  const isTicked = boxes.length > 0 && boxes.every(({ mark }) => mark.toLowerCase() === 'x');
  const said = word === undefined ? undefined : readWord(word.value, id, findings);
  if (isTicked || /[✅]/u.test(heading.text)) {
    if (said !== undefined && said !== 'done')
      addWarning({ findings }, id, 'the boxes say done and the status does not; done');
    return 'done';
  }
  if (said === 'done') {
    if (boxes.length > 0) addWarning({ findings }, id, 'the status says done and the boxes do not; done');
    return 'done';
  }
  const headings = headingsOf(section).slice(section.isTitle ? 0 : 1);
  if (tellWhyAside({ headings, isDropped }, id, findings)) return 'skipped';
  return said ?? 'pending';
}

function readWord(value: string, id: string, findings: Findings): StoryStatus | undefined {
  const status = statusOfWord(value);
  if (status !== undefined || isLifeCycleWord(value)) return status;
  addWarning({ findings }, id, `unknown status "${value}", taken as pending`);
  return 'pending';
}

function markOf({ heading, parts: { boxes, status } }: Part): Mark {
  const word = status === undefined || status.value === '' ? undefined : placeOfWord(status);
  return {
    kind: 'boxes',
    boxes: boxes.map(({ offset }) => offset),
    headingEnd: heading.offset + heading.raw.replace(/(?<!\s)\s+#+$/, '').length,
    ...(word === undefined ? {} : { word }),
  };
}

/** The value stands behind the word "status" on its line. */
function placeOfWord({ value, line }: NonNullable<Parts['status']>): { from: number; to: number; text: string } {
  const label = /stat(?:us|e)\b/i.exec(line.raw)?.index ?? 0;
  const from = line.offset + line.raw.indexOf(value, label + 5);
  const text = statusOfWord(leadOf(value)) === undefined ? value : leadOf(value);
  return { from, to: from + text.length, text };
}

function readPriority({ priority: text, extra }: Parts, id: string, findings: Findings): number | undefined {
  if (text === undefined || text === '') return undefined;
  const word = /^[\w.]{1,20}/.exec(text.replace(/^[^\p{L}\p{N}]+/u, ''))?.[0] ?? '';
  if (word.length < text.length) extra.set('Priority', text);
  const priority = /^\d{1,9}(?:\.\d{1,9})?$/.test(word) ? Number(word) : rankOfWord(word);
  if (priority === undefined) addWarning({ findings }, id, `unknown priority "${text}", so it runs after all others`);
  return priority;
}

/** Checkboxes that look like stories or criteria to people, and are read as text. */
function tellOfOtherBoxes({ lines }: MarkdownDocument, { read, findings }: { read: Part[]; findings: Findings }): void {
  const inside = read.flatMap(({ parts }) => parts.otherBoxes);
  const used = new Set(read.flatMap((part) => part.lines));
  const outside = lines.filter((line) => line.box !== undefined && !used.has(line));
  if (inside.length > 0)
    addWarning({ findings }, undefined, `checkboxes outside of acceptance criteria are only text: ${linesOf(inside)}`);
  if (outside.length > 0)
    addWarning({ findings }, undefined, `checkboxes outside of stories are only text: ${linesOf(outside)}`);
}
