import type { RunRepo } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run-state.ts';
import type { Store } from '../../store/store.ts';

/** Of the newest runs, as many are looked at. */
const MAX_RUNS = 50;

/** Warns that runs of a repository which start from the same commit cannot all be landed, a sentence or none. */
export async function rivalsOf(store: Store, { mirror, branch }: RunRepo): Promise<string[]> {
  const ids = (await store.runIds()).slice(0, MAX_RUNS);
  // A journal that cannot be read is told elsewhere.
  const states = await Promise.all(ids.map((runId) => store.readState(runId).catch(() => undefined)));
  const open = states.filter((state) => state?.repo.mirror === mirror && state.status !== 'ended') as RunState[];
  const [newest] = open;
  if (newest === undefined) return [];
  const others = open.length === 1 ? 'Another run of this repository is' : `${open.length} runs of this repository are`;
  const where = branch === undefined ? 'the same commit' : branch;
  return [
    `${others} not done yet: ${listed(open)}. They start from ${where} as it is now, so that only the first one can be landed without a merge; \`halo submit --after ${newest.runId}\` builds on that run instead.`,
  ];
}

function listed(runs: readonly RunState[]): string {
  const named = runs.slice(0, 3).map(({ runId, status }) => `${runId} (${status})`);
  return runs.length > 3 ? `${named.join(', ')} and ${runs.length - 3} more` : named.join(', ');
}
