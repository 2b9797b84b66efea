import { addCharges, NO_CHARGE, type Charge } from '../../core/budget.ts';
import type { RunState } from '../../core/run/state.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { SpendScope } from '../../queue/budget/budget-ledger.ts';
import { ofIntactRun } from '../../store/disk-errors.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';
import type { AttemptIdentity } from '../attempt/attempt-identity.ts';

const DAY_MS = 86_400_000;

/** What was spent of a budget, according to the journals. */
export async function readSpending(
  {
    worker: { store },
    identity,
  }: { worker: { store: JournalStore & RunCatalog }; identity: Pick<AttemptIdentity, 'runId' | 'story'> },
  scope: Pick<SpendScope, 'name' | 'key'>,
): Promise<Charge> {
  const { runId, story } = identity;
  switch (scope.name) {
    case 'story':
      return sum(await store.readWithoutActivities(runId), (event) => event.story === story);
    case 'run':
      return sum(await store.readWithoutActivities(runId), () => true);
    case 'user':
    case 'repository': {
      const name = scope.key.slice(`${scope.name}:`.length, -':2026-01-01'.length);
      const isOf = ({ user, repo }: RunState) => (scope.name === 'user' ? user : repo.mirror) === name;
      return ofDay(store, dayOf(scope.key), isOf);
    }
    case 'day':
      return ofDay(store, dayOf(scope.key), () => true);
  }
}

function dayOf(key: string): string {
  return key.slice(-'2026-01-01'.length);
}

/** A damaged run counts as zero: it must not stop all others. Throws faults of the disk. */
async function ofDay(
  store: JournalStore & RunCatalog,
  day: string,
  counts: (run: RunState) => boolean,
): Promise<Charge> {
  let spent = NO_CHARGE;
  // Responses may arrive after their run was cancelled.
  const dayBefore = new Date(Date.parse(day) - DAY_MS).toISOString();
  const facts = await store.runFacts();
  for (const runId of await store.runIds()) {
    const endedAt = facts.get(runId)?.endedAt;
    if (endedAt !== undefined && endedAt < dayBefore) continue;
    const state = await ofIntactRun(store.readState(runId));
    if (state === undefined || !counts(state) || (state.endedAt !== undefined && state.endedAt < dayBefore)) continue;
    const events = (await ofIntactRun(store.readJournal(runId))) ?? [];
    spent = addCharges(
      spent,
      sum(events, ({ at }) => at.startsWith(day)),
    );
  }
  return spent;
}

type Used = Extract<JournalEvent, { type: 'model.used' }>;

function sum(events: readonly JournalEvent[], counts: (event: Used) => boolean): Charge {
  return events
    .filter((event): event is Used => event.type === 'model.used')
    .filter(counts)
    .map(({ usage, tokens }) => ({ microUsd: Math.round((usage.costUsd ?? 0) * 1e6), tokens }))
    .reduce(addCharges, NO_CHARGE);
}
