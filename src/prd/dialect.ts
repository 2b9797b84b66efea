import type { DialectId, Prd, Story } from '../core/prd/prd.ts';
import type { FoundList } from './json/find-list.ts';
import type { Findings, Place } from './findings.ts';
import type { JsonValue } from './json/json-positions.ts';
import type { MarkdownDocument } from './markdown/scan-markdown.ts';

/** Where a story keeps its progress in the file. */
export type Mark =
  | { kind: 'json'; at: JsonValue }
  /**
   * Offsets of the characters between the brackets, and the word for the progress; with neither, the heading that gets a
   * sign at its end.
   */
  | {
      kind: 'boxes';
      boxes: number[];
      word?: { from: number; to: number; text: string };
      headingEnd: number | undefined;
    };

/** A story as a dialect reads it, before the rules that hold across stories. */
export interface DraftStory extends Omit<Story, 'dependsOn'> {
  at: Place;
  /** The id as the file has it; undefined: the story has none, and `id` was made up. */
  ownId: string | undefined;
  /** The priority as the file has it, where `priority` follows from the other stories, too. */
  ownPriority?: number | undefined;
  /** Ids of the stories that must be done first. `loose`: one that names no story is no mistake. */
  dependsOn: { id: string; at: Place; loose?: true }[];
  mark: Mark;
}

/** What a dialect makes of a file. */
export interface Draft {
  project: string;
  description: string;
  stories: DraftStory[];
  /** What the file says besides, in its order. */
  about: About[];
}

/** What a file says to more than one story, as it was. */
export interface About {
  label: string;
  value: unknown;
  /** Places of the stories that it is about, from 0; undefined: all. */
  stories?: number[];
}

export interface JsonDocument {
  format: 'json';
  text: string;
  json: JsonValue;
  /** The list of stories, wherever it is; undefined: there is none. */
  found: FoundList | undefined;
}

/** A file with what its format makes of it. */
export type PrdDocument = JsonDocument | MarkdownDocument;

/** What is written into a new file. */
export type PrdContent = Pick<Prd, 'project' | 'description' | 'context' | 'stories'>;

interface DialectOf<D extends PrdDocument> {
  id: DialectId;
  format: D['format'];
  /** What people call it, with its tell-tale keys. */
  title: string;
  /** Whether a document is written in this dialect; looks at its shape only. */
  detects(document: D): boolean;
  /** Reads all it can; what breaks a rule is added to the findings. */
  read(document: D, findings: Findings): Draft;
  /** A new file. What the dialect has no place for is left out. */
  write(content: PrdContent): string;
}

/** One way of writing PRDs as JSON. Pure: text in, stories and findings out. */
export interface JsonDialect extends DialectOf<JsonDocument> {
  /** How a story that is done is called where the file shows no word for it yet. */
  doneWord: string;
}

/** One way of writing PRDs as Markdown. */
export type MarkdownDialect = DialectOf<MarkdownDocument>;

export type Dialect = JsonDialect | MarkdownDialect;
