/** The result of pause, resume, cancel or retry. */
export interface ControlResult {
  runId: string;
  /** False if the run already was in that state. */
  changed: boolean;
  /** Ids of the affected stories. */
  stories: string[];
  /** The new state of the run, as a sentence. Story ids in it are text of users. */
  says: string;
  /** The worker that now exclusively owns the run, because no other worker was running. */
  owner?: string;
  /** What the user should know about the continued run, a sentence each. */
  warnings?: string[];
}

/** The result of a user's decision on a story that was waiting for approval. */
export interface StoryDecisionResult {
  story: string;
  commit: string;
  /** False if the story already had this decision. */
  changed: boolean;
  /** False if it was rejected, or if a worker has to merge it and run its gates again before it lands. */
  landed: boolean;
  /** Whether a worker has something left to do for the run. */
  goesOn: boolean;
}

/** The result of a user's decision on a whole run. */
export interface RunDecisionResult {
  runId: string;
  /** False if the run already had this decision. */
  changed: boolean;
  /** The decision covers everything up to this commit. */
  tip: string;
  /** The branch that moved immediately, with `[land] mode = "ff"`. */
  landed?: LandedRun;
}

/** The branch to which a run was landed, and the commits between which it moved. */
export interface LandedRun {
  branch: string;
  from: string;
  to: string;
  /** The URL of the repository to which the branch was pushed, if the run has one. */
  pushedTo?: string;
}
