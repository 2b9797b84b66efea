import { addUsage, NO_USAGE, type Usage } from '../core/agent.ts';
import type { FailureCause } from '../core/failure/failure.ts';
import type { EgressKind, EgressRequests } from '../core/journal/egress-events.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { createNetworkLog } from './egress/network-log.ts';
import { defined } from '../lib/guards.ts';

/** One request to the gateway. `target` is a path, URL or host:port without control characters. */
export interface RequestRecord {
  method: string;
  target: string;
  outcome: 'served' | 'refused' | 'failed';
  status: number;
}

/** How a request that is not a model request is counted. */
export interface RequestTarget {
  door: EgressKind;
  target: string;
}

/** Called for each refused network target; `reason` is a sentence for users. */
export type OnRefused = (target: string, reason: string) => void;

/** Why the gateway stopped model requests: a budget is used up, overdrawn, or its state is unknown. */
export interface GatewayStop {
  cause: 'budget' | 'overrun' | 'fault';
  sentence: string;
}

/** In ascending severity. */
const SEVERITY: readonly GatewayStop['cause'][] = ['fault', 'budget', 'overrun'];

const MAX_RECORDS = 10_000;

/** A problem as one sentence for users; `cause` when the provider caused it. */
export interface GatewayProblem {
  sentence: string;
  cause?: FailureCause;
}

/** The log of a gateway's requests, usage and problems. */
export interface RequestLog {
  /** Records a request. Returns a function to report transferred bytes. */
  record(entry: RequestRecord, egress?: RequestTarget, reason?: string): (bytes: number) => void;
  /** Records a refused network target and calls `onRefused`. */
  refuse(entry: Omit<RequestRecord, 'outcome'>, reason: string, egress: RequestTarget): void;
  addUsage(usage: Usage): void;
  /** A problem without a kind, and a `fault` of halo's environment, are cleared by a later success. */
  reportProblem(problem: GatewayProblem, kind?: 'lasting' | 'budget' | 'overrun' | 'fault'): void;
  clearProblem(): void;
  /** In a replay: how a matching request differs from the recorded one. Only the first divergence is kept. */
  recordDivergence(sentence: string): void;
  usage(): Usage;
  requests(): RequestRecord[];
  traffic(): EgressRequests[];
  problem(): GatewayProblem | undefined;
  stopped(): GatewayStop | undefined;
  divergence(): string | undefined;
}

export function createRequestLog(onRefused: OnRefused | undefined): RequestLog {
  const records: RequestRecord[] = [];
  let usage = NO_USAGE;
  let passing: GatewayProblem | undefined;
  let lasting: GatewayProblem | undefined;
  let stopped: GatewayStop | undefined;
  let divergence: string | undefined;
  const traffic = createNetworkLog();
  const record: RequestLog['record'] = (
    entry,
    egress = { door: 'model', target: entry.target },
    reason = undefined,
  ) => {
    // The list is bounded, because the sandbox determines the number of requests.
    if (records.length < MAX_RECORDS) records.push({ ...entry, target: safeLine(entry.target, 300) });
    return traffic.add({ ...entry, ...egress, ...defined({ reason }) });
  };
  return {
    record,
    refuse(entry, reason, egress) {
      record({ ...entry, outcome: 'refused' }, egress, reason);
      onRefused?.(safeLine(entry.target, 300), safeLine(reason, 400));
    },
    addUsage(more) {
      usage = addUsage(usage, more);
    },
    reportProblem(problem, kind) {
      if (kind === undefined || kind === 'fault') passing = problem;
      else lasting ??= problem;
      if (kind === undefined || kind === 'lasting') return;
      if (stopped === undefined || SEVERITY.indexOf(kind) > SEVERITY.indexOf(stopped.cause))
        stopped = { cause: kind, sentence: problem.sentence };
    },
    clearProblem() {
      passing = undefined;
      if (stopped?.cause === 'fault') stopped = undefined;
    },
    recordDivergence(sentence) {
      divergence ??= sentence;
    },
    usage: () => usage,
    requests: () => [...records],
    traffic: () => traffic.rows(),
    problem: () => lasting ?? passing,
    stopped: () => stopped,
    divergence: () => divergence,
  };
}
