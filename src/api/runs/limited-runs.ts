import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FleetLimits, isReadyToStart, limitedBy, hasFleetLimit, NO_LIMITS } from '../../core/run/fleet-limit.ts';
import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import { enginesFor, type EngineRules } from '../../core/engine/placement.ts';
import type { RunState } from '../../core/run/state.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';
import type { RunQuery } from '../../store/run/run-list.ts';
import { defined } from '../../lib/guards.ts';
import type { UnreadableRun } from './read-report-of.ts';

/** A run among all others. */
export interface ListedRun extends RunState {
  /** The fleet limit that delays its next story, e.g. `fleet.max = 2`. */
  heldBy?: string;
  /** The engines that may execute its stories, unless that is only the engine of the environment. */
  engines?: string[];
}

type Marks = Pick<ListedRun, 'heldBy' | 'engines'>;

interface Rules {
  limits: FleetLimits;
  engines: readonly EngineRules[];
}

const NO_RULES: Rules = { limits: NO_LIMITS, engines: [] };

/** Which runs to list. */
export type ListQuery = Omit<RunQuery, 'started' | 'isVisible' | 'breaker' | 'mark'>;

export interface ListedRuns {
  /** Newest first. */
  runs: ListedRun[];
  /** Numbers of runs in its range that the query left out. */
  omitted: { open: number; ended: number };
  /** The `before` of a query for the next runs; absent if `newest` left none out. */
  next?: string;
  /** Runs in its range whose journal could not be read; absent if there are none. */
  unreadable?: UnreadableRun[];
}

/** Runs, with the fleet limits that delay them and their engines. */
export interface LimitedRuns {
  /** Runs, newest first; without a query all of them. */
  list(query?: ListQuery): Promise<ListedRuns>;
  /** The same runs, in the same order, with the limit that delays each and its engines. */
  mark(runs: readonly RunState[]): Promise<ListedRun[]>;
  /** The limit that delays a run, if any, and its engines. */
  of(run: RunState): Promise<Marks>;
}

/** Computes from the journals which runs a fleet limit delays; Redis is not needed. */
export function openLimitedRuns(home: string, store: Pick<RunCatalog, 'list'>): LimitedRuns {
  const readRules = async (): Promise<Rules> => {
    // Without a settings file there are no limits, and the configuration need not be loaded.
    if (!existsSync(join(home, 'config.toml'))) return NO_RULES;
    const { readHostFile } = await import('../../config/host-rules.ts');
    // Commands that create runs report an invalid settings file.
    return readHostFile(home).then(
      ({ fleet, engines }) => ({ limits: fleet, engines }),
      () => NO_RULES,
    );
  };
  return {
    async list(query = {}) {
      // A search reads many parts of the list, and the started runs once for all of them.
      let started: Promise<readonly RunState[]> | undefined;
      const markPart = (part: readonly RunState[]) => mark(part, () => (started ??= startedRuns()));
      const { runs, omitted, next, unreadable } = await store.list({ ...query, mark: markPart });
      // A folder without a journal is not a run, or not yet.
      const damaged = unreadable.filter(({ error }) => error.code !== 'RUN_NOT_FOUND');
      const unread = damaged.map(({ runId, error }) => ({ runId, reason: error.message }));
      const more = { next, unreadable: unread.length === 0 ? undefined : unread };
      return { runs: await markPart(runs), omitted, ...defined(more) };
    },
    mark: (runs) => mark(runs),
    async of(run) {
      const [{ heldBy, engines }] = (await mark([run])) as [ListedRun];
      return defined({ heldBy, engines });
    },
  };

  async function mark(runs: readonly RunState[], readStarted = startedRuns): Promise<ListedRun[]> {
    const { limits, engines } = runs.some(({ status }) => status !== 'ended') ? await readRules() : NO_RULES;
    const started = hasFleetLimit(limits) && runs.some(isReadyToStart) ? await readStarted() : [];
    return runs.map((run) => ({
      ...run,
      ...defined({ heldBy: limitedBy(run, started, limits), engines: otherEngines(run, engines) }),
    }));
  }

  /** The runs that a limit counts: only a run that has started has stories in progress. */
  async function startedRuns(): Promise<readonly RunState[]> {
    return (await store.list({ ended: 0, started: true })).runs;
  }
}

/** The engines of an open run, unless that is only the engine of the environment. */
function otherEngines(run: RunState, configured: readonly EngineRules[]): string[] | undefined {
  if (run.status === 'ended') return undefined;
  const engines = enginesFor(run, configured);
  return engines.length === 1 && engines[0] === LOCAL_ENGINE ? undefined : engines;
}
