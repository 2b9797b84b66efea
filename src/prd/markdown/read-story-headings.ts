import { toOneLine } from '../../lib/one-line.ts';
import type { Draft, DraftStory } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { findIdFault, renameDoneDuplicates } from '../ids.ts';
import { isTooMany } from '../limits.ts';
import { addWarning } from '../members.ts';
import { rankOfWord } from '../read-priority.ts';
import { readAbout } from './about.ts';
import { linkStory, resolver } from './depends-on.ts';
import type { Line } from './line.ts';
import { placeOf, type MarkdownDocument } from './scan.ts';
import { isSetAside, priorityOf } from './sections.ts';
import { findStoryHeadings, isCriteriaLine, type StoryHeading } from './story-headings.ts';

/** Reads a file whose headings are the stories and whose lists below "Acceptance Criteria" are their criteria. */
export function readStoryHeadings(document: MarkdownDocument, findings: Findings): Draft {
  for (const text of document.ignored) addWarning({ findings }, undefined, text);
  const headings = findStoryHeadings(document);
  if (isTooMany(headings.length, findings)) return { ...readAbout(document), stories: [], extra: {} };
  const parts = headings.map((story) => ({ story, ...takeApart(story.lines) }));
  const drafts = parts.map((part) => toDraft(part, findings));
  const linking = { resolve: resolver(drafts), findings };
  const linked = drafts.map((draft, index) => {
    const references = parts[index]?.fields.get('depends on') ?? parts[index]?.fields.get('dependencies');
    return linkStory(draft, references === undefined ? [] : [`Depends on: ${references}`], linking);
  });
  warnOfOtherBoxes(document, { drafts, findings });
  return { ...readAbout(document), stories: renameDoneDuplicates(linked, findings), extra: {} };
}

interface Part {
  story: StoryHeading;
  criteria: Line[];
  /** `**Name:** value` lines by their name in lower case. */
  fields: Map<string, string>;
  text: string[];
}

function takeApart(lines: Line[]): Omit<Part, 'story'> {
  const parts = { criteria: [] as Line[], fields: new Map<string, string>(), text: [] as string[] };
  let within = false;
  let lastText = '';
  for (const line of lines) {
    const field = line.kind === 'item' && line.box !== undefined ? null : FIELD.exec(line.text);
    if (isCriteriaLine(line)) within = true;
    else if (within && line.kind === 'item') parts.criteria.push(line);
    else if (within && line.kind === 'text' && line.indent > 0) lastCriterion(parts.criteria, line.text);
    else if (line.kind === 'heading') within = false;
    else if (field !== null) {
      within = false;
      const name = (field[1] ?? '').trim().toLowerCase();
      if (!parts.fields.has(name)) parts.fields.set(name, (field[2] ?? '').trim());
    } else if (line.kind !== 'blank') {
      within = false;
      if (line.box === undefined && !/^[-*_]{3,}$/.test(line.text)) parts.text.push((lastText = line.text));
    } else if (lastText !== '') parts.text.push((lastText = ''));
  }
  return parts;
}

const FIELD = /^\*\*([A-Za-z ]{1,40}):?\*\*:?\s(.*)$/;

/** A line that goes on with the criterion above it. */
function lastCriterion(criteria: Line[], text: string): void {
  const last = criteria.at(-1);
  if (last !== undefined) criteria[criteria.length - 1] = { ...last, text: `${last.text} ${text}` };
}

function toDraft({ story, criteria, fields, text }: Part, findings: Findings): DraftStory {
  const { heading, id, section } = story;
  const at = placeOf(heading);
  const fault = findIdFault(id);
  if (fault !== undefined) findings.problems.push({ ...at, rule: `the id ${fault}` });
  const acceptance = criteria.map((line) => toOneLine(line.text)).filter((each) => each !== '');
  if (acceptance.length === 0) addWarning({ findings }, id, 'no acceptance criteria');
  const boxes = criteria.flatMap(({ box }) => box ?? []);
  const isTicked = boxes.length > 0 && boxes.every(({ mark }) => mark.toLowerCase() === 'x');
  const isDone = isTicked || /[✅]/u.test(heading.text);
  const description = [fields.get('description') ?? '', text.join('\n').trim()].filter((part) => part !== '');
  const group = section[0];
  return {
    id,
    ownId: id,
    title: toOneLine(story.title),
    description: description.join('\n\n'),
    acceptance,
    priority: readPriority(fields.get('priority'), id, findings) ?? priorityOf(section),
    status: isDone ? 'done' : isSetAside(section) ? 'skipped' : 'pending',
    notes: fields.get('notes') ?? '',
    dependsOn: [],
    extra: group === undefined ? {} : { group },
    at,
    mark: { kind: 'boxes', boxes: boxes.map(({ offset }) => offset), headingEnd: heading.end },
  };
}

function readPriority(text: string | undefined, id: string, findings: Findings): number | undefined {
  if (text === undefined) return undefined;
  const word = /^[\w.]{1,20}/.exec(text)?.[0] ?? '';
  const priority = /^\d{1,9}(?:\.\d{1,9})?$/.test(word) ? Number(word) : rankOfWord(word);
  if (priority === undefined) addWarning({ findings }, id, `unknown priority "${text}", so it runs after all others`);
  return priority;
}

function warnOfOtherBoxes(
  { lines }: MarkdownDocument,
  { drafts, findings }: { drafts: DraftStory[]; findings: Findings },
): void {
  const used = new Set(drafts.flatMap(({ mark }) => (mark.kind === 'boxes' ? mark.boxes : [])));
  const others = lines.filter(({ box }) => box !== undefined && !used.has(box.offset));
  if (others.length === 0) return;
  const numbers = others.slice(0, 3).map(({ number }) => number);
  const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
  addWarning(
    { findings },
    undefined,
    `checkboxes outside of acceptance criteria are ignored: line ${numbers.join(', ')}${more}`,
  );
}
