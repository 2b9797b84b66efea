import type { StoryStatus } from '../../core/prd/prd.ts';
import { toOneLine } from '../../lib/one-line.ts';
import type { About, Draft, DraftStory } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { findIdFault, renameDoneDuplicates } from '../ids.ts';
import { isTooMany } from '../limits.ts';
import { addWarning } from '../json/object-reader.ts';
import { readStruck } from '../struck.ts';
import { tellWhyAside } from './aside.ts';
import type { Box } from './checkboxes.ts';
import { isReferenceList, linkStory, resolver } from './markdown-dependencies.ts';
import { findLeadingId, slugOf, type LeadingId } from './leading-id.ts';
import { nameRest } from './name-rest.ts';
import { groupOf, headingsOf } from './outline.ts';
import { linesOf, placeOf, type MarkdownDocument } from './scan-markdown.ts';
import { isExample, priorityOf, type Headings } from './sections.ts';
import { readSurroundings } from './read-surroundings.ts';

interface NamedBox extends Box {
  leading: LeadingId | undefined;
}

/** Reads a file whose checkboxes are the stories. */
export function readBoxes(document: MarkdownDocument, findings: Findings): Draft {
  for (const text of document.ignored) addWarning({ findings }, undefined, text);
  tellOfOddBoxes(document, findings);
  if (isTooMany(document.boxes.length, findings)) return { project: '', description: '', stories: [], about: [] };
  tellOfCriteria(document, findings);
  const boxes = nameBoxes(document.boxes);
  const kept = leaveOutGroups(leaveOutExamples(boxes, findings), findings);
  const drafts = nameRest(kept.map((box) => toDraft(box, findings)));
  const linking = { resolve: resolver(drafts), findings };
  const linked = drafts.map((story, index) => {
    const { text = '', paragraphs = [], below = [] } = kept[index] ?? {};
    return linkStory(story, [text, ...paragraphs, ...below], linking);
  });
  const stories = renameDoneDuplicates(settlePriorities(linked, findings), findings);
  const groups = boxes.filter(groupTest(boxes));
  const sections = kept.map(({ section }) => section);
  const used = new Set(document.boxes.flatMap(({ lines }) => lines));
  const { project, description, about } = readSurroundings(document, { sections, used, findings });
  return { project, description, stories, about: [...about, ...groups.map((group) => aboutGroup(group, kept))] };
}

/** Checkboxes that stand beside stories, as criteria of a whole section. */
function tellOfCriteria({ lines, boxes }: MarkdownDocument, findings: Findings): void {
  const used = new Set(boxes.flatMap((box) => box.lines));
  const others = lines.filter((line) => line.box !== undefined && !used.has(line));
  if (others.length === 0) return;
  addWarning(
    { findings },
    undefined,
    `criteria of a whole section are no stories, but text for them: ${linesOf(others)}`,
  );
}

/** What a group of stories says is for all of them. */
function aboutGroup({ leading, text, paragraphs, below }: NamedBox, kept: NamedBox[]): About {
  const stories = kept.flatMap((box, place) => (box.leading?.id.startsWith(`${leading?.id}.`) ? [place] : []));
  return { label: leading?.id ?? '', value: [leading?.rest ?? text, ...paragraphs, ...below].join('\n'), stories };
}

/** Outside of other boxes, `- [] a` and `- [?] a` look like stories to people. */
function tellOfOddBoxes({ lines }: MarkdownDocument, findings: Findings): void {
  const odd = lines.filter(
    ({ kind, box, indent, text }) => kind === 'item' && box === undefined && indent === 0 && ODD_BOX.test(text),
  );
  if (odd.length === 0) return;
  addWarning({ findings }, undefined, `no stories, because a box is written [ ] or [x]: ${linesOf(odd)}`);
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
  const isKept = ({ section }: NamedBox) => !isExample(headingsOf(section));
  const examples = boxes.filter((box) => !isKept(box)).map(({ line }) => line);
  if (examples.length > 0)
    addWarning({ findings }, undefined, `checkboxes below an example heading are ignored: ${linesOf(examples)}`);
  return boxes.filter(isKept);
}

/** `1` above `1.1` and `1.2` of the same indent is their heading, not work of its own. */
function leaveOutGroups(boxes: NamedBox[], findings: Findings): NamedBox[] {
  const isGroup = groupTest(boxes);
  return boxes.filter((box) => {
    if (isGroup(box)) addWarning({ findings }, box.leading?.id, 'a group of other stories, not a story');
    return !isGroup(box);
  });
}

function groupTest(boxes: NamedBox[]): (box: NamedBox) => boolean {
  const parents = new Set<string>();
  for (const { leading, line } of boxes) {
    const parent = /^(\d+)\./.exec(leading?.id ?? '')?.[1];
    if (parent !== undefined) parents.add(`${parent} ${line.indent}`);
  }
  return ({ leading, line }) => leading !== undefined && parents.has(`${leading.id} ${line.indent}`);
}

function toDraft(box: NamedBox, findings: Findings): DraftStory {
  const at = placeOf(box.line);
  const { labels, text } = takeLabels(box.leading?.rest ?? box.text);
  const { title, isDropped } = readStruck(text);
  if (title === '') findings.problems.push({ ...at, rule: 'the checkbox has no text' });
  const id = box.leading?.id ?? slugOf(title);
  const fault = findIdFault(id);
  if (fault !== undefined) findings.problems.push({ ...at, rule: `the id ${fault}` });
  const headings = headingsOf(box.section);
  const group = groupOf(headings);
  return {
    id,
    ownId: box.leading?.id,
    title,
    description: box.paragraphs.join('\n\n'),
    acceptance: box.below.filter((each) => each !== '' && !isReferenceList(each)).map(toOneLine),
    priority: priorityOf(headings),
    status: statusOf({ mark: box.mark, headings, isDropped }, id, findings),
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

interface Signs {
  mark: string;
  headings: Headings;
  isDropped: boolean;
}

function statusOf({ mark, headings, isDropped }: Signs, id: string, findings: Findings): StoryStatus {
  if (mark === 'x' || mark === 'X') return 'done';
  const aside = tellWhyAside({ headings, isDropped }, id, findings);
  if (aside) return 'skipped';
  if (mark === ' ') return 'pending';
  if (mark === '/') return 'in_progress';
  addWarning({ findings }, id, `the mark [${mark}] can mean cut, blocked or begun; taken as blocked`);
  return 'blocked';
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
