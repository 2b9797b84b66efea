/** A pull request of a run. */
export interface RunPull {
  number: number;
  url: string;
}

/** What the journal of a run says about its pull requests. */
export interface PullState {
  /** The pull request of its branch. */
  pull?: RunPull;
  /** A user has requested a pull request, whatever `land.mode` is. */
  pullRequested?: { by: string };
}

/** The answer to a user who requests a pull request. */
export interface RequestedPull {
  runId: string;
  /** False: the run has a pull request already. */
  changed: boolean;
  /** Absent: a worker opens it. */
  pull?: RunPull;
}
