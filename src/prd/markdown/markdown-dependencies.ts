import { toOneLine } from '../../lib/one-line.ts';
import type { DraftStory } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { addWarning } from '../json/object-reader.ts';
import { isNone } from '../story/read-depends-on.ts';
import { findLeadingId, slugOf } from './leading-id.ts';

/** What a text names as needed. `loose`: it need not be a story. */
export interface Reference {
  text: string;
  loose: boolean;
}

const FIRM = 'depends on|dependencies|depends|deps|blocked by';
const LOOSE = 'requires|needs|prerequisites';
const WHOLE = new RegExp(`^[*_]{0,3}(${FIRM}|${LOOSE})(?:\\s?:[*_]{0,3}|[*_]{1,3}\\s?:)\\s+(.+)$`, 'i');
const BRACKETED = new RegExp(`\\((${FIRM}|${LOOSE}):?\\s([^()]{0,2000})\\)`, 'i');

/** `(depends on: ST-001, ST-002)` in a text, or `Depends on: 1, 2` as all of it. */
function findReferences(text: string): Reference[] {
  const [, word, list] = WHOLE.exec(text) ?? BRACKETED.exec(text) ?? [];
  return word === undefined || list === undefined ? [] : splitReferences(word, list);
}

/** The parts of a list below a word for it, in one line or in several; words for none are left out. */
export function splitReferences(word: string, list: string): Reference[] {
  const loose = new RegExp(`^(?:${LOOSE})$`, 'i').test(word);
  return list
    .split(/,|;|&|\n|\band\b/i)
    .map((part) => part.trim().replace(/^(?:[-*+]\s+)?[`*_[]*|(?<![`*_\].])[`*_\].]+$/g, ''))
    .filter((part) => !isNone(part))
    .map((text) => ({ text, loose }));
}

/** Whether a label is followed by stories that must be done first. */
export function isDependencyName(name: string): boolean {
  return new RegExp(`^(?:${FIRM}|${LOOSE})$`, 'i').test(name);
}

/** Whether a text is nothing but a list of references to stories. */
export function isReferenceList(text: string): boolean {
  return WHOLE.test(text) && findReferences(text).every((reference) => looksLikeId(reference.text));
}

type Named = Pick<DraftStory, 'id' | 'ownId'>;

/** Finds what a reference names: an id of the file, or else a position, counted from 1, among stories without ids. */
export function resolver(stories: Named[]): (reference: string) => string | undefined {
  const ids = new Set(stories.map(({ id }) => id));
  const hasIds = stories.some(({ ownId }) => ownId !== undefined);
  return (reference) => {
    const spellings = [reference, findLeadingId(reference)?.id, slugOf(reference)];
    const known = spellings.find((spelling) => spelling !== undefined && ids.has(spelling));
    const position = /^#?(\d{1,6})$/.exec(reference)?.[1];
    if (known !== undefined || hasIds || position === undefined) return known;
    return stories[Number(position) - 1]?.id;
  };
}

export interface Linking {
  resolve: (reference: string) => string | undefined;
  findings: Findings;
}

/** What texts of a story name as needed, as its dependencies. */
export function linkStory(story: DraftStory, texts: string[], linking: Linking): DraftStory {
  return linkReferences(story, texts.flatMap(findReferences), linking);
}

/** The same for references that are taken apart already; what cannot be an id is left out with a warning. */
export function linkReferences(story: DraftStory, references: Reference[], { resolve, findings }: Linking): DraftStory {
  const needed = new Map<string, DraftStory['dependsOn'][number]>();
  for (const { text, loose } of references) {
    const id = resolve(text) ?? (looksLikeId(text) ? text : undefined);
    if (id === undefined) addWarning({ findings }, story.id, `"${toOneLine(text)}" is no id, so nothing depends on it`);
    else needed.set(id, { id, at: story.at, ...(loose ? { loose: true } : {}) });
  }
  return { ...story, dependsOn: [...needed.values()] };
}

/** Whether a reference can be an id; other words are prose, such as "the new API". */
function looksLikeId(reference: string): boolean {
  return /\d/.test(reference) && !/\s/.test(reference);
}
