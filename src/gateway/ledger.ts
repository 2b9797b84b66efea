import { addUsage, NO_USAGE, type Usage } from '../core/agent.ts';
import { safeLine } from '../core/safe-text.ts';

/** One request that reached the gateway. `target` is a path, a URL or a host:port, made safe to print. */
export interface GatewayRecord {
  method: string;
  target: string;
  outcome: 'served' | 'refused' | 'failed';
  status: number;
}

/** Told of each refused network target; `reason` is a sentence for people. */
export type OnRefused = (target: string, reason: string) => void;

const MAX_RECORDS = 10_000;

/** What a gateway remembers of its requests. */
export interface Ledger {
  record(entry: GatewayRecord): void;
  /** Records a refused network target and tells whoever listens. */
  refuse(entry: Omit<GatewayRecord, 'outcome'>, reason: string): void;
  addUsage(usage: Usage): void;
  /** `lasting`: no later success can mend it. */
  reportProblem(sentence: string, lasting?: 'lasting'): void;
  clearProblem(): void;
  /** In a replay: how a request differs from the recorded one although it fits; the first one stays. */
  noteDivergence(sentence: string): void;
  usage(): Usage;
  requests(): GatewayRecord[];
  problem(): string | undefined;
  divergence(): string | undefined;
}

export function createLedger(onRefused: OnRefused | undefined): Ledger {
  const records: GatewayRecord[] = [];
  let usage = NO_USAGE;
  let passing: string | undefined;
  let lasting: string | undefined;
  let divergence: string | undefined;
  const record = (entry: GatewayRecord) => {
    // The sandbox decides how many requests there are, so the list has an end.
    if (records.length < MAX_RECORDS) records.push({ ...entry, target: safeLine(entry.target, 300) });
  };
  return {
    record,
    refuse(entry, reason) {
      record({ ...entry, outcome: 'refused' });
      onRefused?.(safeLine(entry.target, 300), safeLine(reason, 400));
    },
    addUsage(more) {
      usage = addUsage(usage, more);
    },
    reportProblem(sentence, kind) {
      if (kind === 'lasting') lasting ??= sentence;
      else passing = sentence;
    },
    clearProblem() {
      passing = undefined;
    },
    noteDivergence(sentence) {
      divergence ??= sentence;
    },
    usage: () => usage,
    requests: () => [...records],
    problem: () => lasting ?? passing,
    divergence: () => divergence,
  };
}
