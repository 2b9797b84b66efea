import { listSome } from '../../lib/text.ts';
import type { Diagnostics, PrdWarning } from '../diagnostics.ts';
import type { DraftStory } from '../dialect.ts';
import type { PrdFolder } from './folder-text.ts';

export interface FolderOptions {
  /** For messages. */
  path: string;
  /** The dialect that the user wants. */
  as: string | undefined;
  diagnostics: Diagnostics;
}

/** A story with the file that it is in. */
export function inFile(story: DraftStory, file: string): DraftStory {
  const at = { where: story.at.where, offset: story.at.offset, file };
  return {
    ...story,
    at,
    dependsOn: story.dependsOn.map((needed) => ({ ...needed, at: { ...at, where: needed.at.where } })),
  };
}

/** Adds the notes of a file; those that are not of a story begin with its name. */
export function addWarnings(own: readonly PrdWarning[], file: string, { warnings }: Diagnostics): void {
  for (const { story, ...remark } of own)
    warnings.push({ ...remark, story, text: story === undefined ? `${file}: ${remark.text}` : remark.text });
}

/** Adds a note for each reason why files are not read. */
export function noteLeft(left: PrdFolder['left'], { warnings }: Diagnostics): void {
  const reasons = new Map<string, string[]>();
  for (const { name, why } of left) reasons.set(why, [...(reasons.get(why) ?? []), name]);
  for (const [why, names] of reasons)
    warnings.push({ story: undefined, text: `not read, because ${why}: ${listSome(names, MAX_NAMED)}` });
}

const MAX_NAMED = 5;
