import type { StoryStatus } from '../../core/prd/prd.ts';
import { oneLine } from '../../lib/text.ts';
import type { ContextEntry, Draft, DraftStory } from '../dialect.ts';
import { type Diagnostics, exceedsStoryLimit } from '../diagnostics.ts';
import { findIdProblem, renameDoneDuplicates, makeIdsUnique } from '../story/story-ids.ts';
import { addWarning } from '../json/object-reader.ts';
import { parseStruckThrough, withoutStrike } from '../story/read-fields.ts';
import { warnIfSkipped, isExample, priorityOf, type Headings } from './sections.ts';
import type { Checkbox } from './checkboxes.ts';
import { isReferenceList, linkStory, resolver } from './markdown-dependencies.ts';
import { isIssueBullet } from './issue-bullets.ts';
import { formOf } from './labels.ts';
import { findLeadingId, slugOf, type LeadingId } from './leading-id.ts';
import { isTracked, readHeading } from './story-headings.ts';
import { ancestorsOf, groupOf, headingsOf, splitSign, type Line, type OutlineSection } from './outline.ts';
import { placeOf, remarkOn, remarkOnBoxes, type MarkdownDocument } from './blocks.ts';
import { readSurroundings, warnOfProgress } from './read-surroundings.ts';
import { defined } from '../../lib/guards.ts';

/** `isStruck`: its id is struck through. */
type NamedBox = Omit<Checkbox, 'leading'> & { leading: LeadingId | undefined; isStruck: boolean };

/** Reads a file whose checkboxes are the stories. */
export function readCheckboxes(document: MarkdownDocument, diagnostics: Diagnostics): Draft {
  for (const remark of [...document.ignored, ...document.comments]) addWarning({ diagnostics }, undefined, remark);
  warnOfOddBoxes(document, diagnostics);
  if (exceedsStoryLimit(document.boxes.length, diagnostics))
    return { project: '', description: '', stories: [], about: [] };
  warnOfSectionCriteria(document, diagnostics);
  const boxes = nameBoxes(document.boxes);
  const isOfKiro = findKiro(document.lines);
  const listed = findListed(boxes, diagnostics);
  const others = leaveOutExamples(boxes, diagnostics).filter((box) => !listed.has(box));
  const kept = leaveOutGroups(others, diagnostics);
  warnOfGroups(kept, diagnostics);
  warnOfChecks(kept, diagnostics);
  const drafts = makeIdsUnique(kept.map((box) => toDraft(box, isOfKiro, diagnostics)));
  const linking = { resolve: resolver(drafts), diagnostics };
  const linked = drafts.map((story, index) => {
    const { text = '', paragraphs = [], below = [] } = kept[index] ?? {};
    return linkStory(story, [text, ...paragraphs, ...below], linking);
  });
  const stories = renameDoneDuplicates(settlePriorities(linked, diagnostics), diagnostics);
  warnOfProgress(document, stories, diagnostics);
  const groups = boxes.filter(groupTest(boxes));
  const members = placesByGroup(kept);
  const sections = kept.map(({ section }) => section);
  const used = new Set(document.boxes.flatMap(({ lines }) => lines));
  const { project, description, about } = readSurroundings(document, { sections, used, diagnostics });
  const listedGroups = [...listed].map(([box, section]): ContextEntry => {
    const inside = kept.flatMap((each, place) => (ancestorsOf(each.section).includes(section) ? [place] : []));
    const value = [box.text, ...box.paragraphs, ...box.below].join('\n');
    return { label: oneLine(section.heading?.text ?? ''), value, stories: inside };
  });
  const groupEntries = [...listedGroups, ...groups.map((group) => aboutGroup(group, members))];
  return { project, description, stories, about: [...about, ...groupEntries] };
}

/** Warns about checkboxes that are criteria of a whole section. */
function warnOfSectionCriteria({ lines, boxes }: MarkdownDocument, diagnostics: Diagnostics): void {
  const used = new Set(boxes.flatMap((box) => box.lines));
  const others = lines.filter((line) => line.box !== undefined && !used.has(line));
  if (others.length === 0) return;
  addWarning({ diagnostics }, undefined, remarkOnBoxes(others, 'criteria of a whole section are text, not stories'));
}

/** Warns about headings above the stories that look like stories themselves: with a status, dependencies, or the only id. */
function warnOfGroups(boxes: NamedBox[], diagnostics: Diagnostics): void {
  const groups = new Set(
    boxes.flatMap(({ section, leading }) =>
      ancestorsOf(section).flatMap((each) => {
        if (each.heading === undefined || each.isTitle) return [];
        const { id, sign } = readHeading(each.heading);
        const hasOnlyId = id !== undefined && leading === undefined && priorityOf([each.heading.text]) === undefined;
        const isLikeStory = isTracked({ section: each, sign }) || hasOnlyId;
        return isLikeStory ? [each.heading] : [];
      }),
    ),
  );
  if (groups.size === 0) return;
  const text = `the checkboxes are read as stories, and headings above them as groups without a status or dependencies`;
  addWarning({ diagnostics }, undefined, remarkOn([...groups], text));
}

/** The places of the stories of each group, by its id: `1` for `1.1` and `1.2`. */
function placesByGroup(kept: NamedBox[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [place, { leading }] of kept.entries()) {
    const group = GROUP.exec(leading?.id ?? '')?.[1];
    if (group === undefined) continue;
    const there = places.get(group);
    if (there === undefined) places.set(group, [place]);
    else there.push(place);
  }
  return places;
}

const GROUP = /^(\d+)\./;

/** The text of a group applies to all of its stories. */
function aboutGroup({ leading, text, paragraphs, below }: NamedBox, members: Map<string, number[]>): ContextEntry {
  const stories = members.get(leading?.id ?? '') ?? [];
  return { label: leading?.id ?? '', value: [leading?.rest ?? text, ...paragraphs, ...below].join('\n'), stories };
}

/** Warns about `- [] a`, `- [?] a` and `- [#42] a`, which readers may take for stories. */
function warnOfOddBoxes({ lines }: MarkdownDocument, diagnostics: Diagnostics): void {
  const odd = lines.filter(
    ({ kind, box, indent, text }) => kind === 'item' && box === undefined && indent === 0 && ODD_BOX.test(text),
  );
  const issues = lines.filter(isIssueBullet);
  if (odd.length > 0)
    addWarning({ diagnostics }, undefined, remarkOn(odd, 'malformed checkboxes are ignored; write [ ] or [x]'));
  if (issues.length > 0)
    addWarning({ diagnostics }, undefined, remarkOn(issues, 'bullets with an issue, but without a checkbox, are text'));
}

const ODD_BOX = /^\[[^\p{L}\p{N}\]]?\](?!\()/u;

/** Counts the checkboxes that are stories, and those with an id. */
export function countIds(document: MarkdownDocument): { named: number; all: number } {
  const boxes = nameBoxes(document.boxes);
  return { named: boxes.filter(({ leading }) => leading !== undefined).length, all: boxes.length };
}

/** Uncertain ids are used only if more than half of the checkboxes have an id. */
function nameBoxes(boxes: Checkbox[]): NamedBox[] {
  const named = boxes.map((box) => {
    const plain = withoutStrike(box.text);
    return { ...box, leading: box.leading ?? findLeadingId(plain), isStruck: plain !== box.text };
  });
  const usual = named.filter(({ leading }) => leading !== undefined).length * 2 > named.length;
  return named.map((box) =>
    usual || box.leading?.certain === true ? box : { ...box, leading: undefined, isStruck: false },
  );
}

function leaveOutExamples(boxes: NamedBox[], diagnostics: Diagnostics): NamedBox[] {
  const isKept = ({ section }: NamedBox) => !isExample(headingsOf(section));
  const examples = boxes.filter((box) => !isKept(box)).map(({ line }) => line);
  if (examples.length > 0)
    addWarning({ diagnostics }, undefined, remarkOn(examples, 'checkboxes below an example heading are ignored'));
  return boxes.filter(isKept);
}

/** Finds checkboxes with the text of a heading that has checkboxes of its own: `- [ ] **Phase 1: Core**: the basics`. */
function findListed(boxes: NamedBox[], diagnostics: Diagnostics): Map<NamedBox, OutlineSection> {
  const sections = new Set(boxes.flatMap(({ section }) => ancestorsOf(section)));
  const named = new Map<string, OutlineSection>();
  for (const section of sections)
    if (section.heading !== undefined && !section.isTitle) named.set(formOf(splitSign(section.heading).text), section);
  const listed = new Map<NamedBox, OutlineSection>();
  for (const box of boxes) {
    const names = [/^\*\*([^*]{1,200})\*\*/.exec(box.text)?.[1] ?? '', box.text.slice(0, MAX_NAME)].map(formOf);
    const of = names.map((name) => named.get(name)).find((each) => each !== undefined);
    if (of !== undefined && !ancestorsOf(box.section).includes(of)) listed.set(box, of);
  }
  if (listed.size > 0) {
    const lines = [...listed.keys()].map(({ line }) => line);
    const text = 'checkboxes with the text of a heading that has checkboxes are groups, not stories';
    addWarning({ diagnostics }, undefined, remarkOnBoxes(lines, text));
  }
  return listed;
}

/** A longer text is not a heading. */
const MAX_NAME = 300;

/** Warns about stories that are below "Success Criteria" or the like: they may only say when all is done. */
function warnOfChecks(boxes: NamedBox[], diagnostics: Diagnostics): void {
  const sections = new Set(boxes.map(({ section }) => section));
  const ofChecks = new Set(
    [...sections].filter(({ heading, lines }) => {
      if (heading !== undefined && CHECKS.test(splitSign(heading).text)) return true;
      const first = lines.findIndex(({ box }) => box !== undefined);
      return lines.slice(0, first).some(({ kind, text }) => kind === 'text' && CHECKS_TAG.test(text));
    }),
  );
  const checks = boxes.filter(({ section }) => ofChecks.has(section)).map(({ line }) => line);
  if (checks.length === 0) return;
  const text = 'checkboxes below "Success Criteria" and the like are read as stories, not as criteria of other stories';
  addWarning({ diagnostics }, undefined, remarkOn(checks, text));
}

const CHECKS = /(?:success|completion|exit|verification) (?:criteria|checklist)\W{0,9}$/i;
const CHECKS_TAG = /^<(?:success|acceptance)_criteria>$/;

/** Removes groups: `1` with the same indent as `1.1` and `1.2` is their heading. */
function leaveOutGroups(boxes: NamedBox[], diagnostics: Diagnostics): NamedBox[] {
  const isGroup = groupTest(boxes);
  return boxes.filter((box) => {
    if (isGroup(box)) addWarning({ diagnostics }, box.leading?.id, 'this is a group of stories, not a story');
    return !isGroup(box);
  });
}

/**
 * Returns a test for groups. In the files of Kiro, a task without other work than optional tasks, or with requirements that
 * none of its tasks has, is a story beside them.
 */
function groupTest(boxes: NamedBox[]): (box: NamedBox) => boolean {
  const members = new Map<string, NamedBox[]>();
  for (const box of boxes) {
    const parent = GROUP.exec(box.leading?.id ?? '')?.[1];
    if (parent === undefined) continue;
    const key = `${parent} ${box.line.indent}`;
    const those = members.get(key);
    if (those === undefined) members.set(key, [box]);
    else those.push(box);
  }
  return (box) => {
    const those = box.leading === undefined ? undefined : members.get(`${box.leading.id} ${box.line.indent}`);
    if (those === undefined || those.every(({ line }) => line.isOptional)) return false;
    const own = requirementsOf(box);
    return own.length === 0 || those.some((member) => requirementsOf(member).some((each) => own.includes(each)));
  };
}

/** The lines `_Requirements: 1.1, 2.3_` below a task of Kiro. */
function requirementsOf({ below, paragraphs }: NamedBox): string[] {
  return [...below, ...paragraphs].filter((text) => REQUIREMENTS.test(text));
}

const REQUIREMENTS = /^_Requirements?: .{1,1000}_$/;

/** True for the task files of Kiro, where `[-]` is a started task. */
function findKiro(lines: Line[]): boolean {
  return lines.some(({ isOptional, text }) => isOptional === true || REQUIREMENTS.test(text));
}

function toDraft(box: NamedBox, isOfKiro: boolean, diagnostics: Diagnostics): DraftStory {
  const at = placeOf(box.line);
  const { labels, text } = takeLabels(box.leading?.rest ?? box.text);
  const { title, ...struck } = parseStruckThrough(text);
  const isDropped = struck.isDropped || (box.isStruck && box.leading !== undefined);
  if (title === '') diagnostics.problems.push({ ...at, rule: 'the checkbox has no text' });
  const id = box.leading?.id ?? slugOf(title);
  const fault = findIdProblem(id);
  if (fault !== undefined) diagnostics.problems.push({ ...at, rule: `the id ${fault}` });
  const headings = headingsOf(box.section);
  const group = groupOf(headings);
  return {
    id,
    ownId: box.leading?.id,
    title,
    description: box.paragraphs.join('\n\n'),
    acceptance: box.below.filter((each) => each !== '' && !isReferenceList(each)).map(oneLine),
    priority: priorityOf(headings),
    status: statusOf(
      {
        mark: isOfKiro && box.mark === '-' ? '/' : box.mark,
        headings,
        isDropped,
        isOptional: box.line.isOptional === true,
      },
      id,
      diagnostics,
    ),
    notes: '',
    dependsOn: [],
    extra: { ...defined({ group }), ...(labels.length === 0 ? {} : { labels }) },
    at,
    mark:
      box.markOffset === undefined
        ? { kind: 'boxes', boxes: [], headingEnd: box.line.end, sign: DONE_SIGN }
        : { kind: 'boxes', boxes: [box.markOffset], headingEnd: undefined },
  };
}

/** What the dialect hank appends to a bullet that is done. */
const DONE_SIGN = '[DONE]';

/** Splits off `[P]` (parallel) and `[US1]` (user story) labels at the beginning of a text. */
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
  isOptional: boolean;
}

function statusOf({ mark, headings, isDropped, isOptional }: Signs, id: string, diagnostics: Diagnostics): StoryStatus {
  if (mark === 'x' || mark === 'X') return 'done';
  const aside = warnIfSkipped({ headings, isDropped }, id, diagnostics);
  if (isOptional) addWarning({ diagnostics }, id, 'the task is optional ("- [ ]*"), so it is skipped');
  if (aside || isOptional) return 'skipped';
  if (mark === ' ') return 'pending';
  if (mark === '/') return 'in_progress';
  addWarning({ diagnostics }, id, `the mark [${mark}] is ambiguous (cut, blocked or started); treated as blocked`);
  return 'blocked';
}

/** Uses file order if only some open stories are below a priority heading; the others would all run last. */
function settlePriorities(stories: DraftStory[], diagnostics: Diagnostics): DraftStory[] {
  const open = stories.filter(({ status }) => status === 'pending' || status === 'in_progress');
  const ranked = open.filter(({ priority }) => priority !== undefined);
  if (ranked.length === open.length) return stories;
  if (ranked.length > 0) {
    addWarning({ diagnostics }, undefined, 'only some headings have a priority, so the stories run in file order');
  }
  return stories.map((story) => ({ ...story, priority: undefined, ownPriority: story.priority }));
}
