import { addUsage, NO_USAGE, type Usage } from '../core/agent.ts';
import type { FailureCause, LimitKey } from '../core/failure/failure.ts';
import type { ModelPause } from '../core/failure/model-pause.ts';
import type { EgressKind, EgressRequests } from '../core/journal/egress-events.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { defined } from '../lib/guards.ts';

/** One request to the gateway. `target` is a path, URL or host:port without control characters. */
export interface RequestRecord {
  method: string;
  target: string;
  outcome: 'served' | 'refused' | 'failed';
  status: number;
}

/** How a request that is not a model request is counted. */
interface RequestTarget {
  route: EgressKind;
  target: string;
  unlisted?: true;
}

/** Called for each refused network target; `reason` is a sentence for users. */
export type OnRefused = (target: string, reason: string) => void;

/** Why the gateway stopped model requests: a budget is used up, overdrawn, or unknown, or the model has a long pause. */
export type GatewayStop =
  | { cause: 'budget' | 'overrun' | 'fault'; sentence: string; limit?: LimitKey }
  | { cause: 'pause'; sentence: string; pause: ModelPause };

/** In ascending severity. */
const SEVERITY: readonly GatewayStop['cause'][] = ['fault', 'pause', 'budget', 'overrun'];

const MAX_RECORDS = 10_000;

/** A problem as one sentence for users; `cause` when the provider caused it. */
export interface GatewayProblem {
  sentence: string;
  cause?: FailureCause;
  /** The setting of the budget or rate that is used up, as in `FailureNote`. */
  limit?: LimitKey;
}

/** The log of a gateway's requests, usage and problems. */
export class RequestLog {
  private readonly onRefused: OnRefused | undefined;
  private readonly records: RequestRecord[] = [];
  private readonly network = new NetworkLog();
  private used = NO_USAGE;
  private passing: GatewayProblem | undefined;
  private lasting: GatewayProblem | undefined;
  private stop: GatewayStop | undefined;
  private difference: string | undefined;

  constructor(onRefused?: OnRefused) {
    this.onRefused = onRefused;
  }

  /** Records a request. Returns a function to report transferred bytes. */
  record(
    entry: RequestRecord,
    egress: RequestTarget = { route: 'model', target: entry.target },
    reason?: string,
  ): (bytes: number) => void {
    // The list is bounded, because the sandbox determines the number of requests.
    if (this.records.length < MAX_RECORDS) this.records.push({ ...entry, target: safeLine(entry.target, 300) });
    return this.network.add({ ...entry, ...egress, ...defined({ reason }) });
  }

  /** Records a refused network target and calls `onRefused`. */
  refuse(entry: Omit<RequestRecord, 'outcome'>, reason: string, egress: RequestTarget): void {
    this.record({ ...entry, outcome: 'refused' }, egress, reason);
    this.onRefused?.(safeLine(entry.target, 300), safeLine(reason, 400));
  }

  addUsage(more: Usage): void {
    this.used = addUsage(this.used, more);
  }

  /** A problem without a kind, and a `fault` of halo's environment, are cleared by a later success. */
  reportProblem(problem: GatewayProblem, kind?: 'lasting' | 'budget' | 'overrun' | 'fault'): void {
    if (kind === undefined || kind === 'fault') this.passing = problem;
    else this.lasting ??= problem;
    if (kind === undefined || kind === 'lasting') return;
    const { sentence, limit } = problem;
    this.stopFor({ cause: kind, sentence, ...defined({ limit }) });
  }

  /** A model has a pause that is too long for an agent. Cleared by a later success. */
  reportPause(problem: GatewayProblem, pause: ModelPause): void {
    this.passing = problem;
    this.stopFor({ cause: 'pause', sentence: problem.sentence, pause });
  }

  private stopFor(stop: GatewayStop): void {
    if (this.stop === undefined || SEVERITY.indexOf(stop.cause) > SEVERITY.indexOf(this.stop.cause)) this.stop = stop;
  }

  clearProblem(): void {
    this.passing = undefined;
    if (this.stop?.cause === 'fault' || this.stop?.cause === 'pause') this.stop = undefined;
  }

  /** In a replay: how a matching request differs from the recorded one. Only the first divergence is kept. */
  recordDivergence(sentence: string, isEnd = false): void {
    this.difference = isEnd ? sentence : (this.difference ?? sentence);
  }

  usage(): Usage {
    return this.used;
  }

  requests(): RequestRecord[] {
    return [...this.records];
  }

  traffic(): EgressRequests[] {
    return this.network.rows();
  }

  problem(): GatewayProblem | undefined {
    return this.lasting ?? this.passing;
  }

  stopped(): GatewayStop | undefined {
    return this.stop;
  }

  divergence(): string | undefined {
    return this.difference;
  }
}

/** Bounded, because the sandbox determines the number of targets. */
const MAX_ROWS = 200;
const OTHERS = '(others)';

type EgressRecord = Omit<EgressRequests, 'bytes' | 'count'>;

/** Aggregates equal requests. */
class NetworkLog {
  private readonly byKey = new Map<string, EgressRequests>();

  /** Counts a request. Returns a function to report transferred bytes. */
  add(asked: EgressRecord): (bytes: number) => void {
    const row = this.rowOf({ ...asked, method: safeLine(asked.method, 20), target: safeLine(asked.target, 200) });
    row.count += 1;
    return (bytes) => void (row.bytes += bytes);
  }

  rows(): EgressRequests[] {
    return [...this.byKey.values()].map((row) => ({ ...row }));
  }

  private rowOf({ route, method, target, outcome, status, reason, unlisted }: EgressRecord): EgressRequests {
    const kind = [route, outcome];
    const key = JSON.stringify([...kind, method, target]);
    const full = this.byKey.size >= MAX_ROWS && !this.byKey.has(key);
    const rowKey = full ? JSON.stringify([...kind, OTHERS]) : key;
    const names = full ? { method: '*', target: OTHERS } : { method, target };
    const why = { ...(reason !== undefined && { reason: safeLine(reason, 400) }), ...(unlisted && { unlisted }) };
    const row = this.byKey.get(rowKey) ?? { route, ...names, outcome, status, ...why, bytes: 0, count: 0 };
    this.byKey.set(rowKey, row);
    return row;
  }
}
