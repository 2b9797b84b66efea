import { joinSayings, type AgentActivity } from '../core/agent.ts';

/** So many wait for the journal before the agent is held up. */
const MOST_WAITING = 100;

export interface Teller {
  /** Resolves when more may come. Rejects when something before could not be told. */
  tell(activities: readonly AgentActivity[]): Promise<void>;
  /** Resolves when all is told. */
  done(): Promise<void>;
}

/** Tells what an agent does while more of its output is read; what comes in the meantime is told together. */
export function openTeller(report: (activities: readonly AgentActivity[]) => Promise<void>): Teller {
  let waiting: AgentActivity[] = [];
  let most = MOST_WAITING;
  let telling: Promise<void> | undefined;
  const tellAll = async () => {
    while (waiting.length > 0) await report(waiting.splice(0));
    telling = undefined;
  };
  const begin = () => {
    const begun = tellAll();
    begun.catch(() => (most = 0));
    return begun;
  };
  return {
    tell: async (activities) => {
      waiting = joinSayings([...waiting, ...activities]);
      if (waiting.length === 0) return;
      telling ??= begin();
      if (waiting.length > most) await telling;
    },
    done: async () => telling,
  };
}
