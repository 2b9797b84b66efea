import type { StoryStatus } from '../../core/prd.ts';
import { toOneLine } from '../../lib/one-line.ts';
import type { Draft, DraftStory } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { findIdFault, renameDoneDuplicates } from '../ids.ts';
import { isTooMany } from '../limits.ts';
import { addWarning } from '../members.ts';
import { readAbout } from './about.ts';
import type { Box } from './boxes.ts';
import { isReferenceList, linkStory, resolver } from './depends-on.ts';
import { findLeadingId, slugOf, type LeadingId } from './leading-id.ts';
import { placeOf, type MarkdownDocument } from './scan.ts';
import { isExample, isSetAside, priorityOf } from './sections.ts';

interface NamedBox extends Box {
  leading: LeadingId | undefined;
}

/** Reads a file whose checkboxes are the stories. */
export function readBoxes(document: MarkdownDocument, findings: Findings): Draft {
  for (const text of document.ignored) addWarning({ findings }, undefined, text);
  tellOfOddBoxes(document, findings);
  if (isTooMany(document.boxes.length, findings)) return { ...readAbout(document), stories: [], extra: {} };
  const boxes = nameBoxes(document.boxes);
  const kept = leaveOutGroups(leaveOutExamples(boxes, findings), findings);
  const drafts = nameRest(kept.map((box) => toDraft(box, findings)));
  const linking = { resolve: resolver(drafts), findings };
  const linked = drafts.map((story, index) => {
    const { text = '', paragraphs = [], below = [] } = kept[index] ?? {};
    return linkStory(story, [text, ...paragraphs, ...below], linking);
  });
  return {
    ...readAbout(document),
    stories: renameDoneDuplicates(settlePriorities(linked, findings), findings),
    extra: {},
  };
}

/** Outside of other boxes, `- [] a`, `- [ ]a` and `- [?] a` look like stories to people. */
function tellOfOddBoxes({ lines }: MarkdownDocument, findings: Findings): void {
  const odd = lines.filter(
    ({ kind, box, indent, text }) => kind === 'item' && box === undefined && indent === 0 && ODD_BOX.test(text),
  );
  if (odd.length === 0) return;
  const shown = odd.slice(0, 5).map(({ number }) => number);
  const more = odd.length > shown.length ? ` and ${odd.length - shown.length} more` : '';
  const how = 'a box is written [ ] or [x], with a space behind it';
  addWarning({ findings }, undefined, `ignored, because ${how}: line ${shown.join(', ')}${more}`);
}

const ODD_BOX = /^\[[^\p{L}\p{N}\]]?\](?!\()/u;

/** How many of the checkboxes that are stories have an id, and how many there are. */
export function countIds(document: MarkdownDocument): { named: number; all: number } {
  const boxes = nameBoxes(document.boxes);
  return { named: boxes.filter(({ leading }) => leading !== undefined).length, all: boxes.length };
}

/** Ids that no sign sets off count only where more than half of the boxes have one. */
function nameBoxes(boxes: Box[]): NamedBox[] {
  const named = boxes.map((box) => ({ ...box, leading: findLeadingId(box.text) }));
  const usual = named.filter(({ leading }) => leading !== undefined).length * 2 > named.length;
  return named.map((box) => (usual || box.leading?.certain === true ? box : { ...box, leading: undefined }));
}

function leaveOutExamples(boxes: NamedBox[], findings: Findings): NamedBox[] {
  const kept = boxes.filter(({ section }) => !isExample(section));
  const count = boxes.length - kept.length;
  if (count > 0) addWarning({ findings }, undefined, `${count} checkboxes below an example heading are ignored`);
  return kept;
}

/** `1` above `1.1` and `1.2` of the same indent is their heading, not work of its own. */
function leaveOutGroups(boxes: NamedBox[], findings: Findings): NamedBox[] {
  const parents = new Set<string>();
  for (const { leading, line } of boxes) {
    const parent = /^(\d+)\./.exec(leading?.id ?? '')?.[1];
    if (parent !== undefined) parents.add(`${parent} ${line.indent}`);
  }
  return boxes.filter(({ leading, line }) => {
    const isGroup = leading !== undefined && parents.has(`${leading.id} ${line.indent}`);
    if (isGroup) addWarning({ findings }, leading.id, 'a group of other stories, not a story');
    return !isGroup;
  });
}

function toDraft(box: NamedBox, findings: Findings): DraftStory {
  const at = placeOf(box.line);
  const { labels, text } = takeLabels(box.leading?.rest ?? box.text);
  const title = toOneLine(text);
  if (title === '') findings.problems.push({ ...at, rule: 'the checkbox has no text' });
  const id = box.leading?.id ?? slugOf(text);
  const fault = findIdFault(id);
  if (fault !== undefined) findings.problems.push({ ...at, rule: `the id ${fault}` });
  const group = box.section[0];
  return {
    id,
    ownId: box.leading?.id,
    title,
    description: box.paragraphs.join('\n\n'),
    acceptance: box.below.filter((each) => each !== '' && !isReferenceList(each)).map(toOneLine),
    priority: priorityOf(box.section),
    status: statusOf(box, id, findings),
    notes: '',
    dependsOn: [],
    extra: { ...(group === undefined ? {} : { group }), ...(labels.length === 0 ? {} : { labels }) },
    at,
    mark: { kind: 'boxes', boxes: [box.markOffset], headingEnd: undefined },
  };
}

/** `[P]` and `[US1]` in front of a text say how it may be run and what it is for. */
function takeLabels(text: string): { labels: string[]; text: string } {
  const labels: string[] = [];
  let rest = text;
  for (let match = LABEL.exec(rest); match !== null; match = LABEL.exec(rest)) {
    labels.push(match[1] ?? '');
    rest = rest.slice(match[0].length);
  }
  return { labels, text: rest };
}

const LABEL = /^\[(P|US\d{1,9})\]\s+/;

function statusOf({ mark, section }: Box, id: string, findings: Findings): StoryStatus {
  if (mark === 'x' || mark === 'X') return 'done';
  if (isSetAside(section)) return 'skipped';
  if (mark === ' ') return 'pending';
  if (mark === '/') return 'in_progress';
  addWarning({ findings }, id, `the mark [${mark}] can mean cut, blocked or begun; taken as blocked`);
  return 'blocked';
}

/** Stories of one text without an id of their own are told apart by a number. */
function nameRest(stories: DraftStory[]): DraftStory[] {
  const taken = new Set(stories.flatMap(({ ownId }) => ownId ?? []));
  const numbers = new Map<string, number>();
  return stories.map((story) => {
    if (story.ownId !== undefined) return story;
    let number = numbers.get(story.id) ?? 1;
    let { id } = story;
    while (taken.has(id)) id = `${story.id}~${++number}`;
    taken.add(id);
    numbers.set(story.id, number);
    return { ...story, id };
  });
}

/** Where only some open stories stand below a priority, the others would all run last: the order of the file counts. */
function settlePriorities(stories: DraftStory[], findings: Findings): DraftStory[] {
  const open = stories.filter(({ status }) => status === 'pending' || status === 'in_progress');
  const ranked = open.filter(({ priority }) => priority !== undefined);
  if (ranked.length === open.length) return stories;
  if (ranked.length > 0) {
    addWarning(
      { findings },
      undefined,
      'only some headings have a priority, so the stories run in the order of the file',
    );
  }
  return stories.map((story) => ({ ...story, priority: undefined, ownPriority: story.priority }));
}
