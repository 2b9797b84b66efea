import type { EgressKind, EgressRequests } from '../../core/journal/egress-events.ts';
import { safeLine } from '../../core/text/safe-text.ts';

/** Bounded, because the sandbox determines the number of targets. */
const MAX_ROWS = 200;
const OTHERS = '(others)';

export interface EgressRecord {
  door: EgressKind;
  method: string;
  target: string;
  outcome: EgressRequests['outcome'];
  status: number;
  reason?: string;
}

/** Aggregates equal requests. */
export interface NetworkLog {
  /** Counts a request. Returns a function to report transferred bytes. */
  add(asked: EgressRecord): (bytes: number) => void;
  rows(): EgressRequests[];
}

export function createNetworkLog(): NetworkLog {
  const rows = new Map<string, EgressRequests>();
  const rowOf = ({ door, method, target, outcome, status, reason }: EgressRecord): EgressRequests => {
    const kind = [door, outcome];
    const key = JSON.stringify([...kind, method, target]);
    const full = rows.size >= MAX_ROWS && !rows.has(key);
    const rowKey = full ? JSON.stringify([...kind, OTHERS]) : key;
    const names = full ? { method: '*', target: OTHERS } : { method, target };
    const why = reason === undefined ? {} : { reason: safeLine(reason, 400) };
    const row = rows.get(rowKey) ?? { door, ...names, outcome, status, ...why, bytes: 0, count: 0 };
    rows.set(rowKey, row);
    return row;
  };
  return {
    add: (asked) => {
      const row = rowOf({ ...asked, method: safeLine(asked.method, 20), target: safeLine(asked.target, 200) });
      row.count += 1;
      return (bytes) => void (row.bytes += bytes);
    },
    rows: () => [...rows.values()].map((row) => ({ ...row })),
  };
}
