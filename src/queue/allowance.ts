import type { Redis } from 'ioredis';
import type { BudgetScope, Charge, Overrun } from '../core/budget.ts';
import { HaloError } from '../core/failure/errors.ts';
import { sleep } from '../lib/sleep.ts';
import { ABANDONED, COOL, RENEW, RESERVE, RESTORE, SETTLE } from './allowance-scripts.ts';
import { openTested } from './redis-client.ts';
import type { RedisLink } from './redis/connect-redis.ts';

/** A budget that a request counts against; limits in millionths of a USD and in tokens. */
export interface SpendScope {
  name: BudgetScope;
  /** Unique among all scopes of this HALO_HOME. */
  key: string;
  usd?: number | undefined;
  tokens?: number | undefined;
}

/** The worst case of one model request. Money in millionths of a USD. */
export interface Ask {
  /** Unique; begins with its owner. Asking again with the same id holds nothing twice. */
  id: string;
  /** Provider and model, as one name. */
  model: string;
  scopes: readonly SpendScope[];
  input: number;
  inputUsd: number;
  /** Most tokens of the answer, the least that is of use, and the price of one. */
  output: number;
  least: number;
  outputPrice: number;
  rpm?: number | undefined;
  tpm?: number | undefined;
}

export type Reserved =
  /** `output`: the tokens that there is room for, at least `least`. */
  | ({ kind: 'granted'; output: number } & Held)
  | { kind: 'wait'; ms: number; why: 'cooling' | 'rate' }
  | ({ kind: 'full' } & Overrun)
  /** The server may not know all of this scope, e.g. because it was wiped or started anew: `restore` it first. */
  | { kind: 'unknown'; scope: BudgetScope };

/** What is held for a request. */
interface Held {
  usd: number;
  tokens: number;
}

export interface Settlement {
  ask: Ask;
  /** What was really spent. */
  charge: Charge;
  /** Tokens that count for the rate. */
  load: number;
}

/**
 * Budgets, rates and pauses that all workers of a HALO_HOME share. Every function throws BUDGET_UNKNOWN when the
 * server does not answer: nothing may be spent then.
 */
export interface SharedAllowance {
  /** Holds the worst case until it is settled; what a process holds that dies is counted as spent within a minute. */
  reserve(ask: Ask): Promise<Reserved>;
  /** Answers with a budget that is overdrawn now, if there is one. */
  settle(settlement: Settlement): Promise<Overrun | undefined>;
  /** Tells what the journals say was spent; never lowers what is known. */
  restore(key: string, spent: Charge): Promise<void>;
  /** Counts as spent what gateways that are gone still held, of ids that begin with `owner`; answers with each. */
  abandon(owner: string): Promise<Charge[]>;
  /** Lets no request for the model pass for `ms`. */
  cool(model: string, ms: number): Promise<void>;
  close(): void;
}

const LEASE_MS = 60_000;
const RENEW_MS = 20_000;
const ANSWER_MS = 4_000;
/** A server that starts again is there after a moment. */
const RETRY_MS = [200, 500, 1_000, 2_000];

/** Opens the shared allowance on a connection of its own. Throws REDIS_UNAVAILABLE. */
export async function openAllowance(link: Pick<RedisLink, 'address' | 'prefix'>): Promise<SharedAllowance> {
  // What could not be sent must fail: a command that is kept would be carried out when nobody waits for it.
  const client = await openTested(link.address, { commandTimeout: ANSWER_MS, autoResendUnfulfilledCommands: false });
  client.options.enableOfflineQueue = false;
  // What this process has told the server since they are connected; one that starts again may lack its last second.
  const told = new Set<string>();
  client.on('close', () => told.clear());
  const holds = new Map<string, Held & { id: string; scopes: string[] }>();
  const run = async (script: string, argument: unknown): Promise<unknown> => {
    const answer = await client.eval(script, 1, `${link.prefix}:allowance:`, JSON.stringify(argument));
    return answer === 'ok' ? undefined : JSON.parse(answer as string);
  };
  const ask = (script: string, argument: unknown) =>
    run(script, argument).catch((error: unknown) => {
      throw unknown(link.address.name, error);
    });
  const renew = () => run(RENEW, { holds: [...holds.values()], leaseMs: LEASE_MS }).catch(() => undefined);
  const timer = setInterval(() => {
    if (holds.size > 0) void renew();
  }, RENEW_MS);
  timer.unref();
  return {
    async reserve(request) {
      const untold = request.scopes.find(({ key }) => !told.has(key));
      if (untold !== undefined) return { kind: 'unknown', scope: untold.name };
      const argument = { ...request, leaseMs: LEASE_MS };
      const reserved = (await patiently(() => ask(RESERVE, argument), client)) as Reserved;
      if (reserved.kind === 'granted') {
        const { usd, tokens } = reserved;
        holds.set(request.id, { id: request.id, usd, tokens, scopes: request.scopes.map(({ key }) => key) });
      }
      return reserved;
    },
    async settle({ ask: { id, model, scopes }, charge, load }) {
      holds.delete(id);
      const spent = { usd: charge.microUsd, tokens: charge.tokens, load };
      const over = await ask(SETTLE, { id, model, scopes, charge: spent });
      return over as Overrun | undefined;
    },
    async restore(key, { microUsd, tokens }) {
      await ask(RESTORE, { scope: key, usd: microUsd, tokens });
      told.add(key);
    },
    async abandon(owner) {
      const found = (await ask(ABANDONED, { owner })) as Held[];
      return found.map(({ usd, tokens }) => ({ microUsd: usd, tokens }));
    },
    async cool(model, ms) {
      await ask(COOL, { model, ms });
    },
    close() {
      clearInterval(timer);
      client.disconnect();
    },
  };
}

async function patiently<T>(work: () => Promise<T>, client: Redis): Promise<T> {
  for (const pause of RETRY_MS) {
    try {
      return await work();
    } catch (error) {
      if (client.status === 'end') throw error;
      await sleep(pause);
    }
  }
  return work();
}

function unknown(name: string, cause: unknown): HaloError {
  return new HaloError('BUDGET_UNKNOWN', `Redis at ${name} does not answer, so nobody knows what may still be spent.`, {
    hint: 'Check that Redis runs; until then no request goes to the model.',
    cause,
  });
}
