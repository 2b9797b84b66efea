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
const WHOLE = new RegExp(`^[*_]{0,3}(${FIRM}|${LOOSE})(?:\\s?:[*_]{0,3}|[*_]{1,3}\\s?:)\\s+(.+)$`, 'i');
const BRACKETED = new RegExp(`\\((${FIRM}|${LOOSE}):?\\s([^()]{0,2000})\\)`, 'i');

/** Finds `(depends on: ST-001, ST-002)` in a text, or `Depends on: 1, 2` as the whole text. */
function findReferences(text: string): DependencyReference[] {
  const [, word, list] = WHOLE.exec(text) ?? BRACKETED.exec(text) ?? [];
  return word === undefined || list === undefined ? [] : splitReferences(word, list);
}

/** Splits a list of dependencies, on one line or several; drops words for "none". */
export function splitReferences(word: string, list: string): DependencyReference[] {
  const loose = new RegExp(`^(?:${LOOSE})$`, 'i').test(word);
  return list
    .split(/,|;|&|\n|\band\b/i)
    .map((part) => part.trim().replace(/^(?:[-*+]\s+)?[`*_[]*|(?<![`*_\].])[`*_\].]+$/g, ''))
    .filter((part) => !isNone(part))
    .map((text) => ({ text, loose }));
}

/** True if a label introduces dependencies. */
export function isDependencyName(name: string): boolean {
  return new RegExp(`^(?:${FIRM}|${LOOSE})$`, 'i').test(name);
}

/** True if a text is only a list of references to stories. */
export function isReferenceList(text: string): boolean {
  return WHOLE.test(text) && findReferences(text).every((reference) => looksLikeId(reference.text));
}

type Named = Pick<DraftStory, 'id' | 'ownId'>;

/** Returns a function that maps a reference to a story id: an id of the file, or a position from 1 if no story has an id. */
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

interface Linking {
  resolve: (reference: string) => string | undefined;
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
    const id = resolve(text) ?? (looksLikeId(text) ? text : undefined);
    if (id === undefined)
      addWarning({ diagnostics }, story.id, `"${oneLine(text)}" is not an id, so it is not a dependency`);
    else needed.set(id, { id, at: story.at, ...(loose ? { loose: true } : {}) });
  }
  return { ...story, dependsOn: [...needed.values()] };
}

/** True if a reference can be an id rather than prose such as "the new API". */
function looksLikeId(reference: string): boolean {
  return /\d/.test(reference) && !/\s/.test(reference);
}
