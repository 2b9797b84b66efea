import { oneLine } from '../../lib/text.ts';
import type { DraftStory } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import { addWarning } from '../json/object-reader.ts';
import { isNone } from '../story/read-fields.ts';
import { findLeadingId, slugOf } from './leading-id.ts';

/** A dependency named in a text. `loose`: it need not be a story. */
export interface DependencyReference {
  text: string;
  loose: boolean;
}

const FIRM = 'depends on|dependencies|depends|deps|blocked by';
const LOOSE = 'requires|needs|prerequisites';
const NAME = new RegExp(`^(?:${FIRM}|${LOOSE})$`, 'i');
const LOOSE_NAME = new RegExp(`^(?:${LOOSE})$`, 'i');
const WHOLE = new RegExp(`^[*_]{0,3}(${FIRM}|${LOOSE})(?:\\s?:[*_]{0,3}|[*_]{1,3}\\s?:)\\s+(.+)$`, 'i');
const BRACKETED = new RegExp(`\\((${FIRM}|${LOOSE}):?\\s([^()]{0,2000})\\)`, 'i');

/** Finds `(depends on: ST-001, ST-002)` in a text, or `Depends on: 1, 2` as the whole text. */
function findReferences(text: string): DependencyReference[] {
  const [, whole, all = ''] = WHOLE.exec(text) ?? [];
  if (whole !== undefined) return splitReferences(whole, all);
  const [, word, list = ''] = BRACKETED.exec(text) ?? [];
  if (word === undefined) return [];
  // After a semicolon or a dash, prose may follow: `(depends on T1, T2; T2 and T3 touch the same file)`.
  const [first = '', ...others] = list.replace(RANGE_SIGN, '–').split(/;|\s[-–—]\s/);
  const more = others.map((part) => splitReferences(word, part));
  const isList = (references: DependencyReference[]) => references.every((each) => looksLikeId(each.text));
  return [...splitReferences(word, first), ...more.filter(isList).flat()];
}

/** What is between the ends of `T1 – T9`, `T1 to T9` and `T1..T9`. */
const RANGE_SIGN = /(?<=\d)\s{0,3}(?:[–—]|\.{2,3}|\b(?:to|through|thru)\b)\s{0,3}(?=\S{0,12}\d)/gi;

/** Splits a list of dependencies, on one line or several; drops words for "none". */
export function splitReferences(word: string, list: string): DependencyReference[] {
  const loose = LOOSE_NAME.test(word);
  return list
    .split(/,|;|&|\n|\band\b/i)
    .map((part) => part.trim().replace(/^(?:[-*+]\s+)?[`*_[]*|(?<![`*_\].])[`*_\].]+$/g, ''))
    .filter((part) => !isNone(part))
    .map((text) => ({ text, loose }));
}

/** True if a label introduces dependencies. */
export function isDependencyName(name: string): boolean {
  return NAME.test(name);
}

/** True if a text is only a list of references to stories. */
export function isReferenceList(text: string): boolean {
  return WHOLE.test(text) && findReferences(text).every((reference) => looksLikeId(reference.text));
}

type Named = Pick<DraftStory, 'id' | 'ownId'>;

type Resolve = (reference: string) => readonly string[];

/**
 * Returns a function that maps a reference to story ids: to an id of the file, to the ids of a range (`T1–T9`), or to a
 * position from 1 if no story has an id.
 */
export function resolver(stories: Named[]): Resolve {
  const numbered = numberIds(stories);
  const ids = new Set(stories.map(({ id }) => id));
  const hasIds = stories.some(({ ownId }) => ownId !== undefined);
  return (reference) => {
    const spellings = [reference, findLeadingId(reference)?.id, slugOf(reference), storyIdOf(reference)];
    const known = spellings.find((spelling) => spelling !== undefined && ids.has(spelling));
    const position = /^#?(\d{1,6})$/.exec(reference)?.[1];
    if (known !== undefined && !RANGE.test(reference)) return [known];
    const range = idsOfRange(reference, numbered);
    if (range.length > 0) return range;
    if (known !== undefined) return [known];
    const story = hasIds || position === undefined ? undefined : stories[Number(position) - 1];
    return story === undefined ? [] : [story.id];
  };
}

const RANGE = /^(\S{0,40}?\d)\s?(?:[–—]|\.{2,3}|(?:to|through|thru)\b)\s?(\S{0,40}\d)/i;
const MAX_RANGE = 200;

/** The ids that end with a number, by what is before it. */
type NumberedIds = ReadonlyMap<string, ReadonlyMap<number, string>>;

function numberIds(stories: Named[]): NumberedIds {
  const numbered = new Map<string, Map<number, string>>();
  for (const { id, ownId } of stories) {
    const { stem, number } = splitNumber(id);
    if (ownId === undefined || number === undefined) continue;
    const those = numbered.get(stem) ?? new Map<number, string>();
    numbered.set(stem, those.set(number, id));
  }
  return numbered;
}

/** `T036` is `T` and 36. */
function splitNumber(id: string): { stem: string; number: number | undefined } {
  const [digits] = /\d{1,9}$/.exec(id) ?? [];
  if (digits === undefined) return { stem: id, number: undefined };
  return { stem: id.slice(0, -digits.length), number: Number(digits) };
}

/** The ids from `T036` to `T040` for `T036–T040`, `T036-T040` or `T036–40`; none if an end is not in the file. */
function idsOfRange(reference: string, numbered: NumberedIds): string[] {
  const hyphens = [...reference.matchAll(/-/g)].slice(0, 9).map(({ index }) => index);
  const [, ...dashed] = RANGE.exec(reference) ?? [];
  for (const [from = '', to = ''] of [
    dashed,
    ...hyphens.map((at) => [reference.slice(0, at), reference.slice(at + 1)]),
  ]) {
    const first = splitNumber(from);
    const last = splitNumber(to);
    const those = numbered.get(first.stem);
    if (those === undefined || first.number === undefined || last.number === undefined) continue;
    if (last.stem !== first.stem && last.stem !== '') continue;
    if (!those.has(first.number) || !those.has(last.number) || last.number - first.number >= MAX_RANGE) continue;
    const ids = [...those].filter(([number]) => number >= (first.number ?? 0) && number <= (last.number ?? 0));
    return ids.map(([, id]) => id);
  }
  return [];
}

/** `Story 1.2` or `1.2 (the total)` as the id of a heading such as `### Story 1.2: Title`. */
function storyIdOf(reference: string): string | undefined {
  const number = /^(?:story\s)?(\d{1,4}\.\d{1,4}[a-z]?)(?:\s\([^()]{0,200}\))?$/i.exec(reference)?.[1];
  return number === undefined ? undefined : `story-${number.toLowerCase()}`;
}

interface Linking {
  resolve: Resolve;
  diagnostics: Diagnostics;
}

/** Sets the dependencies of a story that are named in its texts. */
export function linkStory(story: DraftStory, texts: string[], linking: Linking): DraftStory {
  return linkReferences(story, texts.flatMap(findReferences), linking);
}

/** Sets the dependencies of a story from parsed references; drops those that cannot be an id, with a warning. */
export function linkReferences(
  story: DraftStory,
  references: DependencyReference[],
  { resolve, diagnostics }: Linking,
): DraftStory {
  const needed = new Map<string, DraftStory['dependsOn'][number]>();
  for (const { text, loose } of references) {
    const known = resolve(text);
    // A story of another file of the folder, if it is loose.
    const other = looksLikeId(text) ? text : loose ? storyIdOf(text) : undefined;
    const ids = known.length > 0 || other === undefined ? known : [other];
    for (const id of ids) needed.set(id, { id, at: story.at, ...(loose ? { loose: true } : {}) });
    if (ids.length === 0)
      addWarning({ diagnostics }, story.id, `"${oneLine(text)}" is not an id, so it is not a dependency`);
  }
  return { ...story, dependsOn: [...needed.values()] };
}

/** True if a reference can be an id rather than prose such as "the new API". */
function looksLikeId(reference: string): boolean {
  return /\d/.test(reference) && !/\s/.test(reference);
}
