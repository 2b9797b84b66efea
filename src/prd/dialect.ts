import type { DialectId, Story } from '../core/prd.ts';
import type { Findings, Place } from './findings.ts';
import type { JsonValue } from './json.ts';

/** A story as a dialect reads it, before the rules that hold across stories. */
export interface DraftStory extends Story {
  at: Place;
  /** Ids of the stories that must be done first. */
  dependsOn: { id: string; at: Place }[];
}

/** What a dialect makes of a file. */
export interface Draft {
  project: string;
  description: string;
  stories: DraftStory[];
}

/** A file with its text and, when it is one, its JSON document. */
export interface PrdDocument {
  text: string;
  json: JsonValue;
}

/** One way of writing PRDs. Pure: text in, stories and findings out. */
export interface Dialect {
  id: DialectId;
  /** What people call it, with its tell-tale keys. */
  title: string;
  /** Whether a document is written in this dialect; looks at its shape only. */
  detects(document: PrdDocument): boolean;
  /** Reads all it can; what breaks a rule is added to the findings. */
  read(document: PrdDocument, findings: Findings): Draft;
}
