import type { User } from '../../core/access/access.ts';
import { breakerName } from '../../core/failure/breaker.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { mirrorName } from '../../git/repository/repo-url.ts';
import type { RunState } from '../../core/run/state.ts';
import type { BreakerStore } from '../../store/breaker-files.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';
import type { BreakerView } from '../operations/schemas.ts';
import { defined } from '../../lib/guards.ts';

export interface BreakerKeeper {
  store: JournalStore & RunCatalog;
  breakers: BreakerStore;
  /** The user of the server who asks; absent: its owner. */
  caller?: User | undefined;
  /** Queues the jobs of a run that waited for a breaker; absent: the next comparison of a worker does. */
  proceed?: (runId: string) => Promise<unknown>;
}

const RUN = 'run:';
/** The key of a run's own breaker in its journal. */
const OWN = 'run';

/**
 * Lists the breakers that are not closed: first the shared ones, then, unless `shared` is set, those of runs, newest first.
 */
export async function listBreakers(
  { store, breakers, caller }: BreakerKeeper,
  options: { shared: boolean },
): Promise<BreakerView[]> {
  const [shared, runs] = await Promise.all([
    breakers.list(),
    options.shared ? [] : store.list({ breaker: true }).then((list) => list.runs),
  ]);
  const ofRuns = runs.flatMap(({ runId, breaker }): BreakerView[] =>
    breaker === undefined ? [] : [{ key: `${RUN}${runId}`, status: 'open', reason: breaker, until: null }],
  );
  const ofAll = shared
    .filter(({ key }) => isVisibleTo(caller, key))
    .map(({ key, status, reason, until }): BreakerView => ({
      key,
      status: status === 'half-open' ? 'half-open' : 'open',
      reason: reason ?? '',
      until: until === undefined ? null : new Date(until).toISOString(),
    }));
  return [...ofAll, ...ofRuns];
}

/**
 * Closes a breaker, so that the stories that it delayed continue, and returns its full key. `asked` is its key, the
 * name of its repository, or a run. Throws USAGE if it is not open, and RUN_NOT_FOUND.
 */
export async function resetBreaker(keeper: BreakerKeeper, asked: string): Promise<string> {
  const { store, breakers, caller } = keeper;
  const key = caller?.repositories === undefined ? await resolveSharedKey(breakers, asked) : asked;
  if (key.includes(':') && !key.startsWith(RUN)) {
    if (caller?.repositories !== undefined)
      throw new HaloError(
        'ACCESS_DENIED',
        `Access denied: ${key} concerns other repositories than those of ${caller.name}.`,
        {
          hint: 'Ask an operator who may use all repositories.',
        },
      );
    if (!(await breakers.reset(key))) throw notOpen(key);
    await releaseRuns(keeper, key);
    return key;
  }
  const runId = await store.find(key.startsWith(RUN) ? key.slice(RUN.length) : key).catch((error: unknown) => {
    if (!(error instanceof HaloError) || error.code !== 'RUN_NOT_FOUND') throw error;
    const { message, hint } = notOpen(key);
    throw new HaloError('RUN_NOT_FOUND', `${message} ${error.message}`, defined({ hint }));
  });
  const wasOpen = await store.transact(runId, ({ breaker }) => {
    const isOpen = breaker !== undefined;
    return { entries: isOpen ? [{ type: 'breaker.reset', key: OWN }] : [], result: isOpen };
  });
  if (!wasOpen) throw notOpen(`${RUN}${runId}`);
  await keeper.proceed?.(runId);
  return `${RUN}${runId}`;
}

/** The key of the open breaker of the repository with this name or path; `asked` if there is none. */
async function resolveSharedKey(breakers: BreakerStore, asked: string): Promise<string> {
  if (asked.includes(':')) return asked;
  const keys = (await breakers.list()).map(({ key }) => key);
  const name = breakerName(`repository:${mirrorName(asked)}`);
  const named = keys.filter((key) => breakerName(key) === name);
  if (named.length === 0) return asked;
  if (named.length === 1) return named[0] ?? asked;
  throw new HaloError('USAGE', `${JSON.stringify(asked)} is the name of several repositories: ${named.join(', ')}.`, {
    hint: 'Use the complete key of one of them.',
  });
}

/** Records in the journals of waiting runs that the breaker is closed, and continues them. */
async function releaseRuns({ store, proceed }: BreakerKeeper, key: string): Promise<void> {
  const { runs } = await store.list({ ended: 0 });
  for (const { runId } of runs.filter((run) => waitsFor(run, key))) {
    await store.transact(runId, (state) => ({
      entries: waitsFor(state, key) ? [{ type: 'breaker.reset', key }] : [],
      result: undefined,
    }));
    await proceed?.(runId);
  }
}

function waitsFor({ status, stories }: RunState, key: string): boolean {
  return status !== 'ended' && stories.some(({ waiting }) => waiting?.breaker === key);
}

/** The breaker of a repository is shown only to users of all repositories; its key does not tell which one it is. */
function isVisibleTo(caller: User | undefined, key: string): boolean {
  return caller?.repositories === undefined || !key.startsWith('repository:');
}

function notOpen(key: string): HaloError {
  return new HaloError('USAGE', `There is no open breaker ${JSON.stringify(key)}.`, {
    hint: 'Run `halo breaker list` to list open breakers.',
  });
}
