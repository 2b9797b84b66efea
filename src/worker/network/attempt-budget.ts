import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { NO_USAGE } from '../../core/agent.ts';
import { BUDGET_SCOPES, describeOverrun, type Charge } from '../../core/budget.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { costOf, dearest, priceFor } from '../../core/price.ts';
import type { Allowance, Grant, Permission, Worst } from '../../gateway/allowance.ts';
import type { Ask, Reserved, SharedAllowance, SpendScope } from '../../queue/allowance.ts';
import type { Attempt } from '../attempt-context.ts';
import { recallSpent } from './spending-from-journal.ts';

/** How long a request waits for others that hold what is left of a budget, before it asks again. */
const OTHERS_MS = 1_000;
/** Pauses that are worth a line in the log. */
const TOLD_MS = 1_000;

/**
 * What the model requests of one attempt may spend: its story's, its run's and the day's budget, shared with all
 * workers. Each answer is in the journal before it counts anywhere else, so that a wiped Redis forgets nothing.
 */
export async function openAllowance(attempt: Attempt): Promise<Allowance> {
  const shared = sharedBy(attempt);
  await takeOver(attempt);
  let toldUntil = 0;
  const tellPause = async (model: string, ms: number, why: 'provider' | 'rate') => {
    const until = attempt.worker.now() + ms;
    if (ms < TOLD_MS || until <= toldUntil + TOLD_MS) return;
    toldUntil = until;
    await attempt.report({ type: 'model.paused', model, why, until: new Date(until).toISOString() });
  };
  return {
    async reserve(worst) {
      const ask = askFor(attempt, worst);
      const reserved = await reserveKnown(attempt, ask);
      if (reserved.kind === 'wait')
        await tellPause(worst.model, reserved.ms, reserved.why === 'rate' ? 'rate' : 'provider');
      return permit(attempt, { ask, model: worst.model }, reserved);
    },
    async cool(model, ms) {
      await shared.cool(limitedName(attempt.config, model), ms).catch((error: unknown) => warn(attempt, error));
      await tellPause(model, ms, 'provider');
    },
  };
}

/** What an earlier attempt held whose worker died is spent for good. */
async function takeOver(attempt: Attempt): Promise<void> {
  const shared = sharedBy(attempt);
  for (const charge of await shared.abandon(ownerOf(attempt))) {
    const { name } = attempt.config.model;
    const usage = {
      ...NO_USAGE,
      requests: 1,
      ...(name in attempt.config.prices ? { costUsd: charge.microUsd / 1e6 } : {}),
    };
    await attempt.report({ type: 'model.used', model: name, told: 'part', usage, tokens: charge.tokens });
  }
}

/** A server that forgot what was spent, or never knew, is told what the journals say. */
async function reserveKnown(attempt: Attempt, ask: Ask): Promise<Exclude<Reserved, { kind: 'unknown' }>> {
  const shared = sharedBy(attempt);
  for (;;) {
    const reserved = await shared.reserve(ask);
    if (reserved.kind !== 'unknown') return reserved;
    const scope = ask.scopes.find(({ name }) => name === reserved.scope);
    if (scope === undefined) throw new HaloError('INTERNAL', `there is no scope ${reserved.scope}`);
    // Twice, because an answer may have been written down and settled between reading and telling.
    for (let pass = 0; pass < 2; pass++) await shared.restore(scope.key, await recallSpent(attempt, scope));
  }
}

interface Asked {
  ask: Ask;
  model: string;
}

function permit(attempt: Attempt, asked: Asked, reserved: Exclude<Reserved, { kind: 'unknown' }>): Permission {
  switch (reserved.kind) {
    case 'granted':
      return { kind: 'granted', grant: grantOf(attempt, asked, reserved) };
    case 'wait': {
      const until = new Date(attempt.worker.now() + reserved.ms).toISOString().slice(11, 19);
      const who = reserved.why === 'rate' ? 'The configured rate' : 'The model provider';
      const reason = `${who} allows no request to the model "${asked.model}" before ${until} UTC; all workers wait.`;
      return { kind: 'wait', ms: reserved.ms, reason };
    }
    case 'full': {
      const reason = describeOverrun(reserved);
      const { spent, needed, limit } = reserved;
      return spent + needed > limit ? { kind: 'spent', reason } : { kind: 'wait', ms: OTHERS_MS, reason };
    }
  }
}

function grantOf(
  attempt: Attempt,
  { ask, model }: Asked,
  held: { output: number; usd: number; tokens: number },
): Grant {
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
        // What holds nothing only counts for the rate.
        if (held.tokens > 0) await attempt.report({ type: 'model.used', model, told, usage, tokens: charge.tokens });
        const over = await sharedBy(attempt).settle({ ask, charge, load: known.tokens });
        return over === undefined ? { usage } : { usage, overrun: describeOverrun(over) };
      } catch (error) {
        warn(attempt, error);
        return { usage };
      }
    },
  };
}

function askFor(attempt: Attempt, worst: Worst): Ask {
  const { config } = attempt;
  const { model, inputTokens, outputTokens, leastOutput } = worst;
  const known = config.prices[model];
  const price = known === undefined ? undefined : priceFor(known, inputTokens);
  const { rpm, tpm } = config.rate[model] ?? {};
  return {
    id: `${ownerOf(attempt)}e${attempt.epoch}:${randomBytes(8).toString('hex')}`,
    model: limitedName(config, model),
    scopes: scopesOf(attempt),
    input: inputTokens,
    inputUsd: price === undefined ? 0 : Math.ceil(inputTokens * dearest(price)),
    output: outputTokens,
    least: leastOutput,
    outputPrice: price?.output ?? 0,
    ...(rpm === undefined ? {} : { rpm }),
    ...(tpm === undefined ? {} : { tpm }),
  };
}

/** All of them, also without a limit: another run may have one for the same day. */
function scopesOf({ config, runId, key, worker }: Attempt): SpendScope[] {
  const keys = {
    story: `story:${runId}:${key}`,
    run: `run:${runId}`,
    day: `day:${new Date(worker.now()).toISOString().slice(0, 10)}`,
  };
  return BUDGET_SCOPES.map((name) => {
    const { usd, tokens } = config.budget[name];
    return {
      name,
      key: keys[name],
      ...(usd === undefined ? {} : { usd: Math.round(usd * 1e6) }),
      ...(tokens === undefined ? {} : { tokens }),
    };
  });
}

/** Without it, nothing may be spent. */
function sharedBy({ worker: { shared } }: Attempt): SharedAllowance {
  if (shared !== undefined) return shared;
  throw new HaloError('INTERNAL', 'a model is to be asked where no budget is kept');
}

/** Providers limit each model on its own. */
function limitedName({ model: { baseUrl } }: Config, model: string): string {
  return `${new URL(baseUrl).host}/${model}`;
}

function ownerOf({ runId, key }: Attempt): string {
  return `${runId}:${key}:`;
}

function warn({ worker, id }: Attempt, error: unknown): void {
  worker.log.warn({ attempt: id, err: error }, 'what a model request used could not be told to the other workers');
}
