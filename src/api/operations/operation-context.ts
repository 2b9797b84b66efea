import type { User } from '../../core/access/access.ts';
import type { BreakerStore } from '../../store/breaker-files.ts';
import type { FairSlots } from '../access/fair-slots.ts';
import type { LimitedRuns } from '../runs/limited-runs.ts';
import type { RunTable } from '../runs/run-followers.ts';
import type { SubmitContext } from '../submit/submit-context.ts';

/** Everything that operations need, in addition to their input. */
export interface OperationContext extends SubmitContext {
  breakers: BreakerStore;
  limitedRuns: LimitedRuns;
  /** Of all runs, for any caller. */
  runTable: RunTable;
  /** The user who runs the operation, as journals name users. */
  by: string;
  /** The user of the server who sent the request; absent: its owner, who may do everything. */
  caller?: User | undefined;
  /** An agent sent it over MCP, without `[mcp] decide`: it may not cause what only deciding tools do. */
  undecided?: true;
  /** Whether the request came over the network, so that the restrictions of such requests apply. */
  remote: boolean;
  /** Assigns a run to the worker of this process, if it has one and no other worker is running. */
  claim: (runId: string) => Promise<{ owner?: string }>;
  /** Reading PRDs of requests, in the thread of the server. */
  prdTurns: FairSlots;
  /** Replays of requests, which run containers on the machine of the server. */
  replayTurns: FairSlots;
  /** Teaches the masker the secrets that the configuration of a run names. */
  learnSecrets: (config: unknown) => Promise<void>;
  /** The OpenAPI document of all operations. */
  describe: () => Promise<Record<string, unknown>>;
}
