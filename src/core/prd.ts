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
  /** All other keys of the story, as they were. */
  extra: Record<string, unknown>;
}

/** One parsed PRD file. */
export interface Prd {
  dialect: DialectId;
  project: string;
  description: string;
  stories: Story[];
  /** What was normalised or ignored, a sentence each. */
  warnings: string[];
  /** sha256 of the file's bytes, hex. */
  hash: string;
  /** sha256 over everything but progress, hex: marking a story as done does not change it. */
  specHash: string;
}
