import type { StoryTexts } from './fields.ts';
import type { Detail } from './story-details.ts';

/** A PRD: its path, for messages, and the content of the file, or the text of its folder (prd/folder/folder-text.ts). */
export interface PrdFile {
  path: string;
  bytes: Uint8Array;
}

export type StoryStatus = 'pending' | 'in_progress' | 'done' | 'blocked' | 'skipped';

/** One small unit of work, independent of the dialect. */
export interface Story extends StoryTexts {
  id: string;
  /** Its unique key (core/run/story-key.ts). */
  storyKey: string;
  title: string;
  description: string;
  acceptance: string[];
  /** Lower values run first, `undefined` last. Ties are resolved by file order. */
  priority: number | undefined;
  /** Ids of stories of this PRD that must be done first. */
  dependsOn: string[];
  status: StoryStatus;
  /** Other fields of the story by key or label, in their order; all of them are part of the prompt. */
  extra: Record<string, unknown>;
}

/** A text of the PRD about several stories, such as constraints or the goal of a phase. */
export interface ContextText extends Detail {
  /** Ids of the stories that it applies to; undefined: all. */
  stories?: string[];
}

/** One parsed PRD file. */
export interface Prd {
  /** The id of its dialect (prd/dialect-registry.ts). */
  dialect: string;
  project: string;
  description: string;
  /** In file order. */
  context: ContextText[];
  stories: Story[];
  /** What the parser normalised or ignored, a sentence each. */
  warnings: string[];
  /** sha256 of the bytes of the file, or of the text of the folder, hex. */
  hash: string;
  /**
   * SHA-256 over everything except progress, hex: marking a story as done does not change it. Prefixed with the version of
   * the hashing rules.
   */
  specHash: string;
}
