import { HaloError } from '../core/failure/errors.ts';
import type { Prd, Story } from '../core/prd/prd.ts';
import type { FoundList } from './json/find-list.ts';
import type { Diagnostics, PrdWarning, SourceLocation } from './diagnostics.ts';
import type { JsonValue } from './json/json-positions.ts';
import type { MarkdownDocument } from './markdown/blocks.ts';

/** Where the file records the progress of a story. */
export type ProgressMark =
  /** `doneWord`: the word for done, if the file uses none. */
  | { kind: 'json'; at: JsonValue; doneWord?: string }
  /** A mark would move text. `why` ends a sentence. */
  | { kind: 'none'; why: string }
  /** The word itself, such as a value of a map from ids to words. `entry`: the object of the story, if there is one. */
  | { kind: 'word'; at: JsonValue; doneWord?: string; entry?: JsonValue }
  /**
   * Offsets of the characters between the brackets, and the status word. `sign` is appended to the heading or bullet that
   * ends at `headingEnd`; without boxes, word and sign, ✅ is.
   */
  | {
      kind: 'boxes';
      boxes: number[];
      word?: { from: number; to: number; text: string };
      headingEnd: number | undefined;
      sign?: string;
    };

/** A story as read by a dialect, before the rules across stories are applied. */
export interface DraftStory extends Omit<Story, 'storyKey' | 'dependsOn'> {
  at: SourceLocation;
  /** The id in the file; undefined: the file has none and `id` was generated. */
  ownId: string | undefined;
  /** The priority in the file, where `priority` also depends on the other stories. */
  ownPriority?: number | undefined;
  /** Ids of the stories that must be done first. `loose`: the id need not be a story of the file. */
  dependsOn: { id: string; at: SourceLocation; loose?: true }[];
  mark: ProgressMark;
  /** The name of the file that has the mark, if it is not that of the story. */
  markFile?: string | undefined;
}

/** The content of a file as read by a dialect. */
export interface Draft {
  project: string;
  description: string;
  stories: DraftStory[];
  /** Everything else in the file, in file order. */
  about: ContextEntry[];
}

/** Information in a file that concerns more than one story, unchanged. */
export interface ContextEntry {
  label: string;
  value: unknown;
  /** Indexes of the stories that it concerns, from 0; undefined: all. */
  stories?: number[];
}

export interface JsonDocument {
  format: 'json';
  /** How its text is written: one JSON document, JSON Lines, or YAML. */
  form: 'document' | 'lines' | 'yaml';
  text: string;
  json: JsonValue;
  /** The list of stories; undefined: the document has none. */
  found: FoundList | undefined;
}

/** A parsed file, by format. */
export type PrdDocument = JsonDocument | MarkdownDocument;

/** One file of a parsed PRD. */
export interface ReadFile {
  /** Its path below the folder, if the PRD is one. */
  name?: string;
  document: PrdDocument;
  hadMark: boolean;
  dialect: Dialect;
  /** Its stories, as they are after the rules across stories. */
  stories: DraftStory[];
  /** The stories whose marks it has. */
  marks: DraftStory[];
  /** What its notes say, as data. */
  warnings: PrdWarning[];
}

/** The draft of a PRD with the files that it was read from. */
export type FilesDraft = Draft & { files: ReadFile[] };

/** The content of a new file. */
export type PrdContent = Pick<Prd, 'project' | 'description' | 'context' | 'stories'>;

interface DialectOf<D extends PrdDocument> {
  id: string;
  format: D['format'];
  /** Display name with the keys that identify the dialect. */
  title: string;
  /** True if a document is written in this dialect, judging by its shape only. */
  detects(document: D): boolean;
  /** Reads as much as possible and adds rule violations to the diagnostics. */
  read(document: D, diagnostics: Diagnostics): Draft;
  /** Returns the text of a new file, without the fields that the dialect cannot represent. Throws PRD_INVALID if halo only reads it. */
  write(content: PrdContent): string;
}

/** A JSON notation for PRDs. Pure. */
export interface JsonDialect extends DialectOf<JsonDocument> {
  /** The status word for a done story, if the file does not use one yet: one that halo reads as done. */
  doneWord: string;
  /** The JSON Schema of its files, without the parts that dialects share (json-schema.ts). */
  schema: Readonly<Record<string, unknown>>;
}

/** A Markdown notation for PRDs. Pure. */
export type MarkdownDialect = DialectOf<MarkdownDocument>;

export type Dialect = JsonDialect | MarkdownDialect;

/** `write` of a dialect that halo only reads: its files do not have the texts of stories, or a file is only one of them. */
export function writesNothing(id: string): () => never {
  return () => {
    throw new HaloError(
      'PRD_INVALID',
      `halo reads and marks files of the dialect ${id}, but does not write new ones.`,
      {
        hint: 'Choose another dialect, such as ralph or markdown-stories.',
      },
    );
  };
}
