import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { NO_USAGE } from '../../core/agent.ts';
import { BUDGET_SCOPES, describeOverrun, type Charge } from '../../core/budget.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { costOf, highestPrice, priceFor } from '../../core/price.ts';
import type { BudgetPort, Reservation, ReserveResult, Estimate } from '../../gateway/usage/budget-port.ts';
import type { LedgerRequest, LedgerReply, BudgetLedger, SpendScope } from '../../queue/budget/budget-ledger.ts';
import type { Attempt } from '../attempt/open-attempt.ts';
import { readSpending } from './spending-from-journal.ts';
import { defined } from '../../lib/guards.ts';

/** How long a request waits before it asks again, if other requests have reserved the rest of a budget. */
const RESERVATION_RETRY_MS = 1_000;
/** Shorter pauses are not reported. */
const MIN_REPORTED_PAUSE_MS = 1_000;

/**
 * Opens the budget for the model requests of an attempt: the limits of its story, its run and the day, shared with all
 * workers. Usage is written to the journal first, so that it survives the loss of Redis.
 */
export async function openAttemptBudget(attempt: Attempt): Promise<BudgetPort> {
  const shared = ledgerOf(attempt);
  await chargeAbandoned(attempt);
  let reportedUntil = 0;
  const reportPause = async (model: string, ms: number, why: 'provider' | 'rate') => {
    const until = attempt.worker.now() + ms;
    if (ms < MIN_REPORTED_PAUSE_MS || until <= reportedUntil + MIN_REPORTED_PAUSE_MS) return;
    reportedUntil = until;
    await attempt.journal.report({ type: 'model.paused', model, why, until: new Date(until).toISOString() });
  };
  return {
    async reserve(estimate) {
      const ask = askFor(attempt, estimate);
      const reserved = await reserveOrRestore(attempt, ask);
      if (reserved.kind === 'wait')
        await reportPause(estimate.model, reserved.ms, reserved.why === 'rate' ? 'rate' : 'provider');
      return permit(attempt, { ask, model: estimate.model }, reserved);
    },
    async pauseModel(model, ms) {
      await shared.pauseModel(limitedName(attempt.config, model), ms).catch((error: unknown) => warn(attempt, error));
      await reportPause(model, ms, 'provider');
    },
  };
}

/** Charges what an earlier attempt had reserved when its worker died. */
async function chargeAbandoned(attempt: Attempt): Promise<void> {
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
  attempt: Attempt,
  ask: LedgerRequest,
): Promise<Exclude<LedgerReply, { kind: 'unknown' }>> {
  const shared = ledgerOf(attempt);
  for (;;) {
    const reserved = await shared.reserve(ask);
    if (reserved.kind !== 'unknown') return reserved;
    const scope = ask.scopes.find(({ name }) => name === reserved.scope);
    if (scope === undefined) throw new HaloError('INTERNAL', `There is no budget scope ${reserved.scope}.`);
    // Twice, because an answer may have been recorded and settled between reading and restoring.
    for (let pass = 0; pass < 2; pass++) await shared.restore(scope.key, await readSpending(attempt, scope));
  }
}

interface Asked {
  ask: LedgerRequest;
  model: string;
}

function permit(attempt: Attempt, asked: Asked, reserved: Exclude<LedgerReply, { kind: 'unknown' }>): ReserveResult {
  switch (reserved.kind) {
    case 'granted':
      return { kind: 'granted', reservation: grantOf(attempt, asked, reserved) };
    case 'wait': {
      const until = new Date(attempt.worker.now() + reserved.ms).toISOString().slice(11, 19);
      const who = reserved.why === 'rate' ? 'The configured rate' : 'The model provider';
      const reason = `${who} allows no request to the model "${asked.model}" before ${until} UTC; all workers wait.`;
      return { kind: 'wait', ms: reserved.ms, reason };
    }
    case 'full': {
      const reason = describeOverrun(reserved);
      const { spent, needed, limit } = reserved;
      return spent + needed > limit ? { kind: 'spent', reason } : { kind: 'wait', ms: RESERVATION_RETRY_MS, reason };
    }
  }
}

function grantOf(
  attempt: Attempt,
  { ask, model }: Asked,
  held: { output: number; usd: number; tokens: number },
): Reservation {
  return {
    outputTokens: held.output,
    async settle(used, told) {
      const price = attempt.config.prices[model];
      const known: Charge = {
        microUsd: price === undefined ? 0 : costOf(used, price),
        tokens: used.inputTokens + used.outputTokens,
      };
      const charge =
        told === 'all'
          ? known
          : { microUsd: Math.max(held.usd, known.microUsd), tokens: Math.max(held.tokens, known.tokens) };
      const usage = price === undefined ? used : { ...used, costUsd: charge.microUsd / 1e6 };
      try {
        // Without a reservation, the request only counts for the rate.
        if (held.tokens > 0)
          await attempt.journal.report({ type: 'model.used', model, told, usage, tokens: charge.tokens });
        const over = await ledgerOf(attempt).settle({ request: ask, charge, load: known.tokens });
        return over === undefined ? { usage } : { usage, overrun: describeOverrun(over) };
      } catch (error) {
        warn(attempt, error);
        return { usage };
      }
    },
  };
}

function askFor(attempt: Attempt, estimate: Estimate): LedgerRequest {
  const { config } = attempt;
  const { model, inputTokens, outputTokens, leastOutput } = estimate;
  const known = config.prices[model];
  const price = known === undefined ? undefined : priceFor(known, inputTokens);
  const { rpm, tpm } = config.rate[model] ?? {};
  return {
    id: `${ownerOf(attempt)}e${attempt.identity.epoch}:${randomBytes(8).toString('hex')}`,
    model: limitedName(config, model),
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
function scopesOf({ config, identity, worker }: Attempt): SpendScope[] {
  const { runId, storyKey } = identity;
  const keys = {
    story: `story:${runId}:${storyKey}`,
    run: `run:${runId}`,
    day: `day:${new Date(worker.now()).toISOString().slice(0, 10)}`,
  };
  return BUDGET_SCOPES.map((name) => {
    const { usd, tokens } = config.budget[name];
    return {
      name,
      key: keys[name],
      ...(usd === undefined ? {} : { usd: Math.round(usd * 1e6) }),
      ...defined({ tokens }),
    };
  });
}

/** Throws INTERNAL without a ledger: then no model may be asked. */
function ledgerOf({ worker: { budgetLedger: shared } }: Attempt): BudgetLedger {
  if (shared !== undefined) return shared;
  throw new HaloError('INTERNAL', 'A model request needs a budget ledger.');
}

/** Providers limit each model separately. */
function limitedName({ model: { baseUrl } }: Config, model: string): string {
  return `${new URL(baseUrl).host}/${model}`;
}

function ownerOf({ identity: { runId, storyKey } }: Attempt): string {
  return `${runId}:${storyKey}:`;
}

function warn({ worker, identity }: Attempt, error: unknown): void {
  worker.log.warn(
    { attempt: identity.id, err: error },
    'usage of a model request could not be shared with other workers',
  );
}
