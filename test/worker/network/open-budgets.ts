import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { openBudgetLedger } from '../../../src/queue/budget/budget-ledger.ts';
import type { RedisLink } from '../../../src/queue/redis/connect-redis.ts';
import { openStore } from '../../../src/store/store.ts';
import { identifyAttempt } from '../../../src/worker/attempt/attempt-identity.ts';
import { openAttemptJournal } from '../../../src/worker/attempt/attempt-journal.ts';
import { openAttemptBudget } from '../../../src/worker/network/attempt-budget.ts';
import { attempted, created } from '../../support/journal.ts';

export const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
export const STORY = 'US-001';
export const MODEL = 'gpt-5';

/** The budget of an attempt with these settings; all attempts of a test share their Redis keys. */
export async function openBudgets(home: string, link: RedisLink) {
  const shared = { ...link, prefix: randomUUID() };
  const ledger = await openBudgetLedger(shared);
  onTestFinished(() => ledger.close());
  const store = openStore(home, { transcribe: () => [] });
  const entry = { ...created(), user: 'ada' };
  const { runId } = entry;
  await store.createRun(entry, ORIGIN);
  await store.append(runId, [{ type: 'run.started' }, ...attempted(STORY)]);
  const { stories } = await store.readState(runId);
  const worker = { budgetLedger: ledger, now: Date.now, log: pino({ level: 'silent' }), store };
  const open = async (settings: string[], epoch = 1, story = STORY) => {
    const { config } = resolveConfig({ cwd: '/', set: ['agent=codex', `model.name=${MODEL}`, ...settings] });
    const { key } = stories.find(({ id }) => id === story)!;
    const identity = identifyAttempt({ runId, story, storyKey: key, attempt: 1, epoch });
    const inputs = { state: await store.readState(runId) };
    return openAttemptBudget({ worker, identity, config, inputs, journal: openAttemptJournal(store, identity) });
  };
  const append = (...entries: JournalEntry[]) => store.append(runId, entries);
  const events = async (type: JournalEntry['type']) =>
    (await store.readJournal(runId)).filter((event) => event.type === type);
  return { open, append, events, store, runId, link: shared };
}
