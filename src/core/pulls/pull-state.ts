/** A pull request of a run. */
export interface RunPull {
  number: number;
  url: string;
  /** Its branch, and the story whose commit it has, if each story has a pull request of its own. */
  branch?: string;
  story?: string;
  /** People have merged or closed it: halo does not change it any more. */
  ended?: 'merged' | 'closed';
  /** The newest commit that it had then. */
  head?: string;
}

/** What the journal of a run says about its pull requests. */
export interface PullState {
  /** The pull request to look at: of several, the lowest one of the stack that is open. */
  pull?: RunPull;
  /** All of them, in the order in which they were opened. */
  pulls?: RunPull[];
  /** A user has requested a pull request, whatever `land.mode` is. `confirmed`: the commits with possible secrets to push. */
  pullRequested?: { by: string; confirmed?: readonly string[] };
}

/** An event about pull requests. */
export interface PullEvents {
  /** A branch of the run has a pull request on a forge: the branch of the run, if none is named. */
  'pull.opened': { number: number; url: string; branch?: string; of?: string };
  /** People have merged or closed it. `head`: the newest commit that it had then. */
  'pull.closed': { number: number; merged: boolean; head?: string };
  /**
   * A user requested a pull request for a run that may not have asked for one, or confirmed that commits which may have
   * secrets are pushed: `confirmed`, with those of earlier requests.
   */
  'pull.requested': { by: string; confirmed?: readonly string[] };
}

export type PullEntry = { [T in keyof PullEvents]: { type: T } & PullEvents[T] }[keyof PullEvents];

/** The answer to a user who requests a pull request. */
export interface RequestedPull {
  runId: string;
  /** False: the run has a pull request already. */
  changed: boolean;
  /** Absent: a worker opens it. */
  pull?: Pick<RunPull, 'number' | 'url'>;
}

/** What an event changes. */
export function foldPulls({ pulls = [] }: PullState, event: PullEntry): PullState {
  switch (event.type) {
    case 'pull.opened': {
      const { number, url, branch, of: story } = event;
      // People may open another one for the same branch.
      const others = pulls.filter((each) => each.branch !== branch);
      return shown([...others, { number, url, ...(branch && { branch }), ...(story && { story }) }]);
    }
    case 'pull.closed': {
      const ended = event.merged ? ('merged' as const) : ('closed' as const);
      const head = event.head === undefined ? {} : { head: event.head };
      return shown(pulls.map((each) => (each.number === event.number ? { ...each, ended, ...head } : each)));
    }
    case 'pull.requested':
      return { pullRequested: { by: event.by, ...(event.confirmed && { confirmed: event.confirmed }) } };
  }
}

function shown(pulls: RunPull[]): PullState {
  const pull = pulls.find(({ ended }) => ended === undefined) ?? pulls.at(-1);
  return { pulls, ...(pull && { pull }) };
}
