import { addUsage, NO_USAGE, type Usage } from '../core/agent.ts';
import type { FailureCause } from '../core/failure/failure.ts';
import type { Door, NetworkAsked } from '../core/network.ts';
import { safeLine } from '../core/safe-text.ts';
import { createTraffic } from './egress/network-log.ts';

/** One request that reached the gateway. `target` is a path, a URL or a host:port, made safe to print. */
export interface GatewayRecord {
  method: string;
  target: string;
  outcome: 'served' | 'refused' | 'failed';
  status: number;
}

/** Where a request is counted, when it is not one to the model. */
export interface Place {
  door: Door;
  target: string;
}

/** Told of each refused network target; `reason` is a sentence for people. */
export type OnRefused = (target: string, reason: string) => void;

/** Why the gateway itself let no more requests pass: a budget is used up or overdrawn, or it is not known whether it is. */
export interface Stopped {
  cause: 'budget' | 'overrun' | 'fault';
  sentence: string;
}

/** The later, the more it counts. */
const GRAVITY: readonly Stopped['cause'][] = ['fault', 'budget', 'overrun'];

const MAX_RECORDS = 10_000;

/** What went wrong, as one sentence for people; `cause` where it is the provider's doing. */
export interface Problem {
  sentence: string;
  cause?: FailureCause;
}

/** What a gateway remembers of its requests. */
export interface Ledger {
  /** Gives what is called when bytes of this request have been carried. */
  record(entry: GatewayRecord, place?: Place, reason?: string): (bytes: number) => void;
  /** Records a refused network target and tells whoever listens. */
  refuse(entry: Omit<GatewayRecord, 'outcome'>, reason: string, place: Place): void;
  addUsage(usage: Usage): void;
  /** Only `fault`, of halo's surroundings, and what has no kind are over with a later success. */
  reportProblem(problem: Problem, kind?: 'lasting' | 'budget' | 'overrun' | 'fault'): void;
  clearProblem(): void;
  /** In a replay: how a request differs from the recorded one although it fits; the first one stays. */
  noteDivergence(sentence: string): void;
  usage(): Usage;
  requests(): GatewayRecord[];
  traffic(): NetworkAsked[];
  problem(): Problem | undefined;
  stopped(): Stopped | undefined;
  divergence(): string | undefined;
}

export function createLedger(onRefused: OnRefused | undefined): Ledger {
  const records: GatewayRecord[] = [];
  let usage = NO_USAGE;
  let passing: Problem | undefined;
  let lasting: Problem | undefined;
  let stopped: Stopped | undefined;
  let divergence: string | undefined;
  const traffic = createTraffic();
  const record: Ledger['record'] = (entry, place = { door: 'model', target: entry.target }, reason = undefined) => {
    // The sandbox decides how many requests there are, so the list has an end.
    if (records.length < MAX_RECORDS) records.push({ ...entry, target: safeLine(entry.target, 300) });
    return traffic.add({ ...entry, ...place, ...(reason === undefined ? {} : { reason }) });
  };
  return {
    record,
    refuse(entry, reason, place) {
      record({ ...entry, outcome: 'refused' }, place, reason);
      onRefused?.(safeLine(entry.target, 300), safeLine(reason, 400));
    },
    addUsage(more) {
      usage = addUsage(usage, more);
    },
    reportProblem(problem, kind) {
      if (kind === undefined || kind === 'fault') passing = problem;
      else lasting ??= problem;
      if (kind === undefined || kind === 'lasting') return;
      if (stopped === undefined || GRAVITY.indexOf(kind) > GRAVITY.indexOf(stopped.cause))
        stopped = { cause: kind, sentence: problem.sentence };
    },
    clearProblem() {
      passing = undefined;
      if (stopped?.cause === 'fault') stopped = undefined;
    },
    noteDivergence(sentence) {
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
