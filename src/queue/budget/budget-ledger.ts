import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { BudgetScope, BudgetWarning, Charge, Overrun } from '../../core/budget.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { retry } from '../../lib/async.ts';
import { connectRedisClient } from '../redis/redis-client.ts';
import type { RedisLink } from '../redis/connect-redis.ts';

const SCRIPT = readFileSync(new URL('./budget.lua', import.meta.url), 'utf8');

/** A budget that a request counts against. Limits are in millionths of a USD and in tokens. */
export interface SpendScope {
  name: BudgetScope;
  /** Unique among the scopes of this HALO_HOME. */
  key: string;
  usd?: number | undefined;
  tokens?: number | undefined;
}

/** A reservation request for the maximum cost of one model request. Money is in millionths of a USD. */
export interface LedgerRequest {
  /** Unique, starts with the owner. A repeated request with the same id replaces its reservation. */
  id: string;
  /** Provider and model as one name. */
  model: string;
  /** Names of the provider's keys that the request may use, in order of preference. */
  keys: readonly string[];
  scopes: readonly SpendScope[];
  input: number;
  inputUsd: number;
  /** Maximum and minimum useful tokens of the response, and the price of one token. */
  output: number;
  least: number;
  outputPrice: number;
  rpm?: number | undefined;
  tpm?: number | undefined;
  rph?: number | undefined;
  /** The last command of a user for this run, in ms since 1970. It may try a model again that was paused before it. */
  since?: number | undefined;
}

/** A key that is not used for a model. `refused`: its provider does not accept it, so that no request waits for it. */
interface KeyBlock {
  model: string;
  key: string;
  ms: number;
  at: number;
  refused: boolean;
}

/** Which requests a pause may apply to. */
export type PauseQuery = Pick<LedgerRequest, 'model' | 'keys' | 'rph' | 'since'>;

/** Requests to a model wait: `cooling` for its provider, until the first key may be used again; `rate` for the next minute, `hour` for the next hour. */
export interface LedgerPause {
  kind: 'wait';
  ms: number;
  why: 'cooling' | 'rate' | 'hour';
  /** With `hour`: the hours since 1970, by the clock of the server. */
  hour?: number;
}

export type LedgerReply =
  /** `output`: the available output tokens, at least `least`; `key`: the key to use. */
  | ({ kind: 'granted'; output: number; hour: number; key: string } & ReservedAmount)
  | LedgerPause
  | ({ kind: 'full' } & Overrun)
  /** The server may not know this scope completely, for example after a restart or a wipe. Call `restore` first. */
  | { kind: 'unknown'; scope: BudgetScope };

/** The amount reserved for a request. */
interface ReservedAmount {
  usd: number;
  tokens: number;
}

interface LedgerSettlement {
  request: LedgerRequest;
  /** The actual cost. */
  charge: Charge;
  /** Tokens that count towards the rate limit. */
  load: number;
}

/** What a settlement has reached. */
interface Settled {
  /** A budget that is overdrawn. */
  over?: Overrun;
  /** Budgets of which four fifths have been spent by this request: each is reported once. */
  near: BudgetWarning[];
}

const LEASE_MS = 60_000;
const RENEW_MS = 20_000;
const REPLY_MS = 4_000;
/** Delays between retries, enough for a restart of the server. */
const RETRY_DELAYS_MS = [200, 500, 1_000, 2_000];

/** Opens the ledger on its own connection. Throws REDIS_UNAVAILABLE. */
export async function openBudgetLedger(link: Pick<RedisLink, 'address' | 'prefix'>): Promise<BudgetLedger> {
  // A command that cannot be sent must fail: a queued one would run after its caller has given up.
  const client = await connectRedisClient(link.address, {
    commandTimeout: REPLY_MS,
    autoResendUnfulfilledCommands: false,
  });
  client.options.enableOfflineQueue = false;
  return new BudgetLedger(client, link);
}

/**
 * Budgets, rate limits and pauses shared by all workers of a HALO_HOME. Every method throws BUDGET_UNKNOWN when the
 * server does not answer: nothing may be spent then.
 */
export class BudgetLedger {
  private readonly client: Redis;
  private readonly link: Pick<RedisLink, 'address' | 'prefix'>;
  /** Scopes restored since the connection was opened: a restarted server may lack its last second of writes. */
  private readonly restored = new Set<string>();
  private readonly reservations = new Map<string, ReservedAmount & { id: string; scopes: string[] }>();
  private readonly timer: NodeJS.Timeout;

  constructor(client: Redis, link: Pick<RedisLink, 'address' | 'prefix'>) {
    this.client = client;
    this.link = link;
    client.on('close', () => this.restored.clear());
    this.timer = setInterval(() => void this.renew(), RENEW_MS).unref();
  }

  /** Reserves the maximum cost until it is settled. Reservations of a dead process count as spent within a minute. */
  async reserve(request: LedgerRequest): Promise<LedgerReply> {
    const missing = request.scopes.find(({ key }) => !this.restored.has(key));
    if (missing !== undefined) return { kind: 'unknown', scope: missing.name };
    const argument = { ...request, leaseMs: LEASE_MS };
    const reply = (await retry(() => this.send('reserve', argument), {
      delaysMs: RETRY_DELAYS_MS,
      isRetryable: () => this.client.status !== 'end',
    })) as LedgerReply;
    if (reply.kind === 'granted') {
      const { usd, tokens } = reply;
      const scopes = request.scopes.map(({ key }) => key);
      this.reservations.set(request.id, { id: request.id, usd, tokens, scopes });
    }
    return reply;
  }

  /** Replaces a reservation by the actual cost. */
  async settle({ request: { id, model, scopes }, charge, load }: LedgerSettlement): Promise<Settled> {
    this.reservations.delete(id);
    const spent = { usd: charge.microUsd, tokens: charge.tokens, load };
    const reply = (await this.send('settle', { id, model, scopes, charge: spent })) as Partial<Settled> | undefined;
    return { near: [], ...reply };
  }

  /** Restores the amount spent according to the journals. Never lowers the stored amount. */
  async restore(key: string, { microUsd, tokens }: Charge): Promise<void> {
    await this.send('restore', { scope: key, usd: microUsd, tokens });
    this.restored.add(key);
  }

  /** Counts the open reservations of dead gateways, those with ids starting with `owner`, as spent and returns them. */
  async chargeAbandoned(owner: string): Promise<Charge[]> {
    const found = (await this.send('chargeAbandoned', { owner })) as ReservedAmount[];
    return found.map(({ usd, tokens }) => ({ microUsd: usd, tokens }));
  }

  /** Blocks requests to the model with a key for `ms`, from `at`, in ms since 1970. */
  async pauseKey(pause: KeyBlock): Promise<void> {
    await this.send('pauseKey', pause);
  }

  /** The pause of a model, except those of less than a minute for its rate. */
  async findPause(query: PauseQuery): Promise<LedgerPause | undefined> {
    return (await this.send('findPause', query)) as LedgerPause | undefined;
  }

  close(): void {
    clearInterval(this.timer);
    this.client.disconnect();
  }

  private async renew(): Promise<void> {
    if (this.reservations.size === 0) return;
    await this.run('renew', { holds: [...this.reservations.values()], leaseMs: LEASE_MS }).catch(() => undefined);
  }

  private send(operation: string, argument: unknown): Promise<unknown> {
    return this.run(operation, argument).catch((error: unknown) => {
      throw budgetUnknownError(this.link.address.name, error);
    });
  }

  private async run(operation: string, argument: unknown): Promise<unknown> {
    const key = keysOf(this.link.prefix);
    const reply = await this.client.eval(SCRIPT, 1, key, operation, JSON.stringify(argument));
    return reply === 'ok' ? undefined : JSON.parse(reply as string);
  }
}

/** What was spent and reserved on this day (UTC), by the clock of the server; undefined before its first model request. */
export async function readDayUse(client: Redis, prefix: string): Promise<Charge | undefined> {
  const [seconds] = await client.time();
  const day = new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
  const key = `${keysOf(prefix)}spent:day:${day}`;
  const [usd, tokens, heldUsd, heldTokens] = await client.hmget(key, 'usd', 'tokens', 'held_usd', 'held_tokens');
  if (usd === null || usd === undefined) return undefined;
  return { microUsd: Number(usd) + Number(heldUsd ?? 0), tokens: Number(tokens ?? 0) + Number(heldTokens ?? 0) };
}

function keysOf(prefix: string): string {
  return `${prefix}:allowance:`;
}

function budgetUnknownError(name: string, cause: unknown): HaloError {
  return new HaloError('BUDGET_UNKNOWN', `Redis at ${name} does not answer, so the remaining budget is unknown.`, {
    hint: 'Check that Redis is running. Until then no request is sent to the model.',
    cause,
  });
}
