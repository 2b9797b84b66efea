import { breakerName } from '../../core/failure/breaker.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { mirrorName } from '../../git/repository/repo-url.ts';
import type { RunState } from '../../core/run-state.ts';
import type { Breakers } from '../../store/breaker-files.ts';
import type { Store } from '../../store/store.ts';
import type { BreakerView } from '../operations.ts';

export interface BreakerKeeper {
  store: Store;
  breakers: Breakers;
}

const RUN = 'run:';
/** The key of a run's own breaker in its journal. */
const OWN = 'run';

/** Every breaker that is not closed: those that runs share, then those of runs, newest first. */
export async function listBreakers({ store, breakers }: BreakerKeeper): Promise<BreakerView[]> {
  const [shared, { runs }] = await Promise.all([breakers.list(), store.list()]);
  const ofRuns = runs.flatMap(({ runId, breaker }): BreakerView[] =>
    breaker === undefined ? [] : [{ key: `${RUN}${runId}`, status: 'open', reason: breaker, until: null }],
  );
  const ofAll = shared.map(({ key, status, reason, until }): BreakerView => ({
    key,
    status: status === 'half-open' ? 'half-open' : 'open',
    reason: reason ?? '',
    until: until === undefined ? null : new Date(until).toISOString(),
  }));
  return [...ofAll, ...ofRuns];
}

/**
 * Closes a breaker, so that what it held back goes on; answers with its whole key. `asked` is its key, the name of its
 * repository, or a run. Throws USAGE when it is not open,
 * and RUN_NOT_FOUND.
 */
export async function resetBreaker({ store, breakers }: BreakerKeeper, asked: string): Promise<string> {
  const key = await findShared(breakers, asked);
  if (key.includes(':') && !key.startsWith(RUN)) {
    if (!(await breakers.reset(key))) throw notOpen(key);
    await releaseRuns(store, key);
    return key;
  }
  const runId = await store.find(key.startsWith(RUN) ? key.slice(RUN.length) : key).catch((error: unknown) => {
    if (!(error instanceof HaloError) || error.code !== 'RUN_NOT_FOUND') throw error;
    const { message, hint } = notOpen(key);
    throw new HaloError('RUN_NOT_FOUND', `${message} ${error.message}`, { ...(hint !== undefined && { hint }) });
  });
  const wasOpen = await store.transact(runId, ({ breaker }) => {
    const isOpen = breaker !== undefined;
    return { entries: isOpen ? [{ type: 'breaker.reset', key: OWN }] : [], result: isOpen };
  });
  if (!wasOpen) throw notOpen(`${RUN}${runId}`);
  return `${RUN}${runId}`;
}

/** The key of the open breaker that is meant by the name or path of a repository; `asked` itself where there is none. */
async function findShared(breakers: Breakers, asked: string): Promise<string> {
  if (asked.includes(':')) return asked;
  const keys = (await breakers.list()).map(({ key }) => key);
  const name = breakerName(`repository:${mirrorName(asked)}`);
  const named = keys.filter((key) => breakerName(key) === name);
  if (named.length === 0) return asked;
  if (named.length === 1) return named[0] ?? asked;
  throw new HaloError('USAGE', `${JSON.stringify(asked)} is the name of several repositories: ${named.join(', ')}.`, {
    hint: 'Give the whole key of one of them.',
  });
}

/** The journals of runs that wait for it say that they wait no more; workers see it within seconds. */
async function releaseRuns(store: Store, key: string): Promise<void> {
  const { runs } = await store.list();
  for (const { runId } of runs.filter((run) => waitsFor(run, key))) {
    await store.transact(runId, (state) => ({
      entries: waitsFor(state, key) ? [{ type: 'breaker.reset', key }] : [],
      result: undefined,
    }));
  }
}

function waitsFor({ status, stories }: RunState, key: string): boolean {
  return status !== 'ended' && stories.some(({ waiting }) => waiting?.breaker === key);
}

function notOpen(key: string): HaloError {
  return new HaloError('USAGE', `There is no open breaker ${JSON.stringify(key)}.`, {
    hint: '`halo breaker list` shows those that are.',
  });
}
