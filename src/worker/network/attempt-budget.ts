import { randomBytes } from 'node:crypto';
import { NO_USAGE } from '../../core/agent.ts';
import {
  addCharges,
  BUDGET_SCOPES,
  budgetKey,
  budgetOf,
  describeOverrun,
  NO_CHARGE,
  type Charge,
} from '../../core/budget.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { costOf, highestPrice, priceFor } from '../../core/price.ts';
import type { RunState } from '../../core/run/state.ts';
import type {
  BudgetPort,
  Estimate,
  KeyPauseRequest,
  Reservation,
  ReserveResult,
} from '../../gateway/usage/budget-port.ts';
import { defined } from '../../lib/guards.ts';
import type { BudgetLedger, LedgerReply, LedgerRequest, SpendScope } from '../../queue/budget/budget-ledger.ts';
import { ofIntactRun } from '../../store/disk-errors.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';
import type { AttemptIdentity } from '../attempt/attempt-identity.ts';
import type { Attempt, AttemptInputs } from '../attempt/open-attempt.ts';
import type { WorkerContext } from '../worker-context.ts';
import { describePause, keysOf, limitedName, longestPauseMs, pauseQuery } from './model-pauses.ts';
import { describeKeySource } from './secret-reader.ts';

/** How long a request waits before it asks again, if other requests have reserved the rest of a budget. */
const RESERVATION_RETRY_MS = 1_000;
/** Shorter pauses are not reported. */
const MIN_REPORTED_PAUSE_MS = 1_000;

/** What the budget of an attempt depends on. */
interface BudgetedAttempt extends Pick<Attempt, 'identity' | 'config' | 'journal'> {
  worker: Pick<WorkerContext, 'budgetLedger' | 'now' | 'log' | 'store'>;
  inputs: Pick<AttemptInputs, 'state'>;
}

/**
 * Opens the budget for the model requests of an attempt: the limits of its story, its run and the day, shared with all
 * workers. Usage is written to the journal first, so that it survives the loss of Redis.
 */
export async function openAttemptBudget(attempt: BudgetedAttempt): Promise<BudgetPort> {
  const shared = ledgerOf(attempt);
  await chargeAbandoned(attempt);
  let reportedUntil = 0;
  const countHour = hourlyCount();
  const reportPause = async (model: string, ms: number, why: 'provider' | 'rate') => {
    const until = attempt.worker.now() + ms;
    if (ms < MIN_REPORTED_PAUSE_MS || until <= reportedUntil + MIN_REPORTED_PAUSE_MS) return;
    reportedUntil = until;
    const paused = { type: 'model.paused', model, why, until: new Date(until).toISOString() } as const;
    // The pause holds whether or not it is recorded.
    await attempt.journal.report(paused).catch((error: unknown) => warn(attempt, error));
  };
  const reportKey = keyReporter(attempt);
  return {
    longestPauseMs: longestPauseMs(attempt.config),
    async reserve(estimate, avoid = []) {
      const ask = askFor(attempt, estimate, avoid);
      const reserved = await reserveOrRestore(attempt, ask);
      if (reserved.kind === 'wait')
        await reportPause(estimate.model, reserved.ms, reserved.why === 'cooling' ? 'provider' : 'rate');
      const alone = countHour(reserved) >= (ask.rph ?? Infinity);
      if (reserved.kind === 'wait' && reserved.why === 'hour' && alone)
        return { kind: 'spent', reason: rphTooLow(estimate.model, ask.rph), limit: `rate.${estimate.model}.rph` };
      return permit(attempt, { ask, model: estimate.model }, reserved);
    },
    async pauseKey({ model, key, ms, why }) {
      const names = keysOf(attempt.config);
      const block = {
        model: limitedName(attempt.config, model),
        key: names[key] ?? '',
        ms,
        refused: why === 'refused',
      };
      const pausing = shared.pauseKey({ ...block, at: attempt.worker.now() });
      await pausing.catch((error: unknown) => warn(attempt, error));
      await (names.length === 1 ? reportPause(model, ms, 'provider') : reportKey({ model, key, ms, why }));
    },
  };
}

/** Reports that one of several keys is not used until a time; once for each pause. */
function keyReporter({ config, worker, journal, identity }: BudgetedAttempt) {
  const reported = new Map<string, number>();
  return async ({ model, key, ms, why }: KeyPauseRequest): Promise<void> => {
    const until = worker.now() + ms;
    const before = reported.get(`${model} ${key}`) ?? 0;
    if (ms < MIN_REPORTED_PAUSE_MS || until <= before + MIN_REPORTED_PAUSE_MS) return;
    reported.set(`${model} ${key}`, until);
    const sources = [config.model, ...config.model.keys];
    const source = describeKeySource(sources[key] ?? config.model, key);
    const facts = { model, key: key + 1, of: sources.length, source, why, until: new Date(until).toISOString() };
    if (why === 'refused') worker.log.warn({ attempt: identity.id, ...facts }, 'the provider refused a key');
    const reporting = journal.report({ type: 'key.paused', ...facts });
    await reporting.catch((error: unknown) => warn({ worker, identity }, error));
  };
}

/** Counts the requests of an attempt that were granted within an hour; the count of one model is enough. */
function hourlyCount(): (reserved: LedgerReply) => number {
  let hour: number | undefined;
  let count = 0;
  return (reserved) => {
    if (!('hour' in reserved)) return count;
    if (reserved.hour !== hour) count = 0;
    hour = reserved.hour;
    if (reserved.kind === 'granted') count += 1;
    return count;
  };
}

/** The attempt had all requests of an hour, so that waiting for the next hour would repeat this. */
function rphTooLow(model: string, rph = 0): string {
  return `The attempt has sent all ${rph} requests to the model "${model}" that its rate allows in an hour; raise rph of [rate."${model}"] and start a new run.`;
}

/** Charges what an earlier attempt had reserved when its worker died. */
async function chargeAbandoned(attempt: BudgetedAttempt): Promise<void> {
  const shared = ledgerOf(attempt);
  for (const charge of await shared.chargeAbandoned(ownerOf(attempt))) {
    const { name } = attempt.config.model;
    const usage = {
      ...NO_USAGE,
      requests: 1,
      ...(name in attempt.config.prices ? { costUsd: charge.microUsd / 1e6 } : {}),
    };
    await attempt.journal.report({ type: 'model.used', model: name, told: 'part', usage, tokens: charge.tokens });
  }
}

/** Reserves; if Redis does not know what a scope has spent, restores that from the journals first. */
async function reserveOrRestore(
  attempt: BudgetedAttempt,
  ask: LedgerRequest,
): Promise<Exclude<LedgerReply, { kind: 'unknown' }>> {
  const shared = ledgerOf(attempt);
  for (;;) {
    const reserved = await shared.reserve(ask);
    if (reserved.kind !== 'unknown') return reserved;
    const scope = ask.scopes.find(({ name }) => name === reserved.scope);
    if (scope === undefined) throw new HaloError('INTERNAL', `There is no budget scope ${reserved.scope}.`);
    // Twice, because a response may have been recorded and settled between reading and restoring.
    for (let pass = 0; pass < 2; pass++) await shared.restore(scope.key, await readSpending(attempt, scope));
  }
}

interface Asked {
  ask: LedgerRequest;
  model: string;
}

function permit(
  attempt: BudgetedAttempt,
  asked: Asked,
  reserved: Exclude<LedgerReply, { kind: 'unknown' }>,
): ReserveResult {
  switch (reserved.kind) {
    case 'granted':
      return { kind: 'granted', reservation: grantOf(attempt, asked, reserved) };
    case 'wait': {
      const { pause, ms, why: reason } = describePause(asked.model, reserved, attempt.worker.now());
      return { kind: 'wait', ms, reason, pause };
    }
    case 'full': {
      const reason = describeOverrun(reserved);
      const { spent, needed, limit } = reserved;
      return spent + needed > limit
        ? { kind: 'spent', reason, limit: budgetKey(reserved) }
        : { kind: 'wait', ms: RESERVATION_RETRY_MS, reason };
    }
  }
}

function grantOf(
  attempt: BudgetedAttempt,
  { ask, model }: Asked,
  reserved: { output: number; usd: number; tokens: number; key: string },
): Reservation {
  const grantedAt = performance.now();
  return {
    outputTokens: reserved.output,
    key: keysOf(attempt.config).indexOf(reserved.key),
    async settle(used, told) {
      const price = attempt.config.prices[model];
      const known: Charge = {
        microUsd: price === undefined ? 0 : costOf(used, price),
        tokens: used.inputTokens + used.outputTokens,
      };
      const charge =
        told === 'all'
          ? known
          : { microUsd: Math.max(reserved.usd, known.microUsd), tokens: Math.max(reserved.tokens, known.tokens) };
      const usage = price === undefined ? used : { ...used, costUsd: charge.microUsd / 1e6 };
      const ms = Math.round(performance.now() - grantedAt);
      const entry = { type: 'model.used', model, told, usage, tokens: charge.tokens, ms } as const;
      // Without a reservation, the request only counts for the rate.
      if (reserved.tokens > 0) await attempt.journal.report(entry).catch((error: unknown) => warn(attempt, error));
      // Even if the journal cannot be written: otherwise this process would renew the reservation while it lives.
      const settling = ledgerOf(attempt).settle({ request: ask, charge, load: known.tokens });
      const settled = await settling.catch((error: unknown) => warn(attempt, error));
      for (const warning of settled?.near ?? [])
        await attempt.journal
          .report({ type: 'budget.warned', ...warning })
          .catch((error: unknown) => warn(attempt, error));
      const { over } = settled ?? {};
      return over === undefined
        ? { usage }
        : { usage, overrun: { sentence: describeOverrun(over), limit: budgetKey(over) } };
    },
  };
}

function askFor(attempt: BudgetedAttempt, estimate: Estimate, avoid: readonly number[]): LedgerRequest {
  const { config } = attempt;
  const { model, inputTokens, outputTokens, leastOutput } = estimate;
  const known = config.prices[model];
  const price = known === undefined ? undefined : priceFor(known, inputTokens);
  const { rpm, tpm } = config.rate[model] ?? {};
  return {
    id: `${ownerOf(attempt)}e${attempt.identity.epoch}:${randomBytes(8).toString('hex')}`,
    ...pauseQuery({ config, state: attempt.inputs.state }, model),
    keys: keysOf(config).filter((_, position) => !avoid.includes(position)),
    scopes: scopesOf(attempt),
    input: inputTokens,
    inputUsd: price === undefined ? 0 : Math.ceil(inputTokens * highestPrice(price)),
    output: outputTokens,
    least: leastOutput,
    outputPrice: price?.output ?? 0,
    ...defined({ rpm, tpm }),
  };
}

/** All scopes, including those without a limit: another run may have a limit for the same day. */
function scopesOf({ config, identity, worker, inputs }: BudgetedAttempt): SpendScope[] {
  const { runId, storyKey } = identity;
  const { user, repo } = inputs.state;
  const day = new Date(worker.now()).toISOString().slice(0, 10);
  const keys = {
    story: `story:${runId}:${storyKey}`,
    run: `run:${runId}`,
    user: `user:${user}:${day}`,
    repository: `repository:${repo.mirror}:${day}`,
    day: `day:${day}`,
  };
  return BUDGET_SCOPES.map((name) => {
    const { usd, tokens } = budgetOf(config.budget, name);
    return {
      name,
      key: keys[name],
      ...(usd === undefined ? {} : { usd: Math.round(usd * 1e6) }),
      ...defined({ tokens }),
    };
  });
}

/** Throws INTERNAL without a ledger: then no model may be asked. */
function ledgerOf({ worker: { budgetLedger: shared } }: BudgetedAttempt): BudgetLedger {
  if (shared !== undefined) return shared;
  throw new HaloError('INTERNAL', 'A model request needs a budget ledger.');
}

function ownerOf({ identity: { runId, storyKey } }: BudgetedAttempt): string {
  return `${runId}:${storyKey}:`;
}

function warn({ worker, identity }: Pick<BudgetedAttempt, 'worker' | 'identity'>, error: unknown): undefined {
  worker.log.warn({ attempt: identity.id, err: error }, 'usage or a pause of a model could not be recorded');
}

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
