import type { Detail } from './story-details.ts';

/** Every way of writing PRDs that halo reads, in no order of preference. */
export type DialectId =
  | 'hanuman'
  | 'lever'
  | 'swanson'
  | 'ralph'
  | 'daedalus'
  | 'taskmaster'
  | 'grouped'
  | 'array'
  | 'stories'
  | 'tasks'
  | 'features'
  | 'hank'
  | 'markdown-stories'
  | 'markdown-numbered'
  | 'markdown-checkbox';

export type StoryStatus = 'pending' | 'in_progress' | 'done' | 'blocked' | 'skipped';

/** One small unit of work, whatever dialect it was written in. */
export interface Story {
  id: string;
  /** Its key (core/story-key.ts), which no other story has; absent in journals of an older halo. */
  storyKey?: string;
  title: string;
  description: string;
  acceptance: string[];
  /** Lower runs first; `undefined` runs after all others. Ties go by file order. */
  priority: number | undefined;
  /** Ids of stories of this PRD that must be done first. */
  dependsOn: string[];
  status: StoryStatus;
  notes: string;
  /** What else the story says, by key or label, as it was and in its order: the agent is told all of it. */
  extra: Record<string, unknown>;
}

/** What a PRD says to more than one of its stories, such as its constraints or the goal of a phase. */
export interface ContextText extends Detail {
  /** Ids of the stories that it is about; undefined: all of them. */
  stories?: string[];
}

/** One parsed PRD file. */
export interface Prd {
  dialect: DialectId;
  project: string;
  description: string;
  /** In the order of the file; PRDs that an older halo has read lack it. */
  context?: ContextText[];
  stories: Story[];
  /** What was normalised or ignored, a sentence each. */
  warnings: string[];
  /** sha256 of the file's bytes, hex. */
  hash: string;
  /**
   * sha256 over everything but progress, hex: marking a story as done does not change it. In front of it is the version
   * of the rules that it was made by; hashes of halo 0.1.0 development versions have none.
   */
  specHash: string;
}
