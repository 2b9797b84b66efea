import { toOneLine } from '../../lib/one-line.ts';
import type { DraftStory } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { addWarning } from '../members.ts';

/** `(depends on: ST-001, ST-002)` in a text, or `Depends on: 1, 2` as all of it; undefined: no such words. */
function findReferences(text: string): string[] | undefined {
  const list = WHOLE.exec(text)?.[1] ?? /\(depends on:?\s([^()]{0,2000})\)/i.exec(text)?.[1];
  if (list === undefined) return undefined;
  return list
    .split(/,|;|&|\band\b/i)
    .map((part) => part.trim().replace(/^[`*_[]+|[`*_\].]+$/g, ''))
    .filter((part) => part !== '' && !/^(?:none|nothing|n\/a|[-–—])$/i.test(part));
}

/** Whether a text is nothing but a list of references. */
export function isReferenceList(text: string): boolean {
  return WHOLE.test(text);
}

const WHOLE = /^[*_]{0,3}depend(?:s on|encies)(?:\s?:[*_]{0,3}|[*_]{1,3}\s?:)\s+(.+)$/i;

/** Finds what a reference names: an id of the file, or else a position, counted from 1, among stories without ids. */
export function resolver(stories: Pick<DraftStory, 'id' | 'ownId'>[]): (reference: string) => string {
  const ids = new Set(stories.map(({ id }) => id));
  const hasIds = stories.some(({ ownId }) => ownId !== undefined);
  return (reference) => {
    const position = /^#?(\d{1,6})$/.exec(reference)?.[1];
    if (ids.has(reference) || hasIds || position === undefined) return reference;
    return stories[Number(position) - 1]?.id ?? reference;
  };
}

/** References of a text as dependencies of a story; what cannot be an id is left out with a warning. */
export function linkStory(story: DraftStory, texts: string[], { resolve, findings }: Linking): DraftStory {
  const references = texts.flatMap((text) => findReferences(text) ?? []);
  const ids = references.filter((reference) => {
    if (looksLikeId(reference)) return true;
    addWarning({ findings }, story.id, `"${toOneLine(reference)}" is no id, so nothing depends on it`);
    return false;
  });
  return { ...story, dependsOn: [...new Set(ids)].map((id) => ({ id: resolve(id), at: story.at })) };
}

export interface Linking {
  resolve: (reference: string) => string;
  findings: Findings;
}

/** Whether a reference can be an id; other words are prose, such as "the new API". */
function looksLikeId(reference: string): boolean {
  return /\d/.test(reference) && !/\s/.test(reference);
}
