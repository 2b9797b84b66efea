import { statusOfWord } from '../../story/read-status.ts';
import type { StoryHeading } from './heading.ts';
import { formOf, readLabels } from '../labels.ts';
import { findLeadingId } from '../leading-id.ts';
import type { Line } from '../line.ts';
import { isDependencyName } from '../markdown-dependencies.ts';
import { ancestorsOf, headingsOf, type OutlineSection } from '../outline.ts';
import { isExample } from '../sections.ts';

/**
 * Finds the headings that are stories in a file without "Acceptance Criteria": those of one kind, if the checkboxes below
 * have no ids. Headings with an id like `US-001` need a status, dependencies, or half of all checkboxes. Other headings
 * (`1.`, `Login`) need a status or dependencies wherever they have checkboxes, and must have all of them.
 */
export function findWithoutCriteria(
  candidates: StoryHeading[],
  { outline, kindOf }: { outline: OutlineSection[]; kindOf: (candidate: StoryHeading) => string },
): StoryHeading[] {
  const possible = candidates.filter(({ section }) => !section.isTitle && !isExample(headingsOf(section)));
  const all = outline.flatMap(({ lines }) => boxesOf(lines)).length;
  const byKind = new Map<string, StoryHeading[]>();
  for (const candidate of possible) {
    const kind = byKind.get(kindOf(candidate)) ?? [];
    byKind.set(kindOf(candidate), kind);
    kind.push(candidate);
  }
  const kinds = [...byKind.values()].filter((kind) => areStories(kind, all));
  // A heading above stories of another kind is their group.
  const groups = new Set(kinds.flat().flatMap(({ section }) => ancestorsOf(section).slice(1)));
  return kinds.filter((kind) => !kind.some(({ section }) => groups.has(section))).flat();
}

function areStories(kind: StoryHeading[], all: number): boolean {
  const boxes = kind.flatMap(({ lines }) => boxesOf(lines));
  if (boxes.length > 0 && boxes.filter(hasId).length * 2 >= boxes.length) return false;
  if (kind.every(({ id }) => id !== undefined && namesStory(id)))
    return kind.some(isTracked) || (boxes.length > 0 && boxes.length * 2 >= all);
  const owners = kind.filter(({ lines }) => boxesOf(lines).length > 0);
  return (
    owners.length > 0 &&
    boxes.length === all &&
    owners.every((owner) => isTracked(owner) && !isPartlyDone(owner) && !namesGroup(owner.heading.text))
  );
}

function boxesOf(lines: Line[]): Line[] {
  return lines.filter(({ box }) => box !== undefined);
}

/** `AC-1` is the id of a criterion. */
function hasId({ text }: Line): boolean {
  const id = findLeadingId(text)?.id;
  return id !== undefined && !/^AC\b|^AC\d/i.test(id);
}

const GROUP_WORDS =
  'epic|ep|e|phase|ph|p|milestone|ms|m|sprint|sp|release|rel|r|version|ver|v|wave|week|w|day|d|stage|part|section|' +
  'sec|chapter|track|theme|quarter|q|h|goal|feature|adr|rfc';
const GROUP = new RegExp(`^\\W*(?:${GROUP_WORDS})(?:[\\s.-]{0,3}\\d|\\s?:)`, 'i');

function namesGroup(text: string): boolean {
  return GROUP.test(text);
}

/** True for ids like `US-001`, `T001`, `P0-1` and `#12`; false for numbers, and for ids like `EPIC-1` and `M1`. */
function namesStory(id: string): boolean {
  return /^[A-Za-z]{1,10}\d{1,3}-\d/.test(id) || (/^[#A-Za-z]/.test(id) && !namesGroup(id));
}

/** True if the heading has a mark, a known status word or dependencies. */
export function isTracked({ section, sign }: Pick<StoryHeading, 'section' | 'sign'>): boolean {
  return sign !== undefined || findTracking(section).length > 0;
}

/** Returns the labels above the checkboxes that only a story has: its status, with a known word, and its dependencies. */
export function findTracking({ lines }: OutlineSection): string[] {
  const first = lines.findIndex(({ box }) => box !== undefined);
  const top = lines.slice(0, first < 0 ? undefined : first).filter(({ indent }) => indent === 0);
  const labels = top.flatMap(readLabels).filter(({ name, value }) => {
    const form = formOf(name);
    if (form === 'status' || form === 'state') return statusOfWord(value) !== undefined;
    return isDependencyName(form) && value !== '';
  });
  return labels.map(({ name }) => name);
}

/** Such checkboxes record progress one by one, as stories do. */
function isPartlyDone({ lines }: StoryHeading): boolean {
  const marks = new Set(boxesOf(lines).map(({ box }) => box?.mark === ' '));
  return marks.size > 1;
}
