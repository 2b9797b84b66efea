import type { EgressRequests } from '../../core/journal/egress-events.ts';
import { safeLine } from '../../core/text/safe-text.ts';

/** Bounded, because the sandbox determines the number of targets. */
const MAX_ROWS = 200;
const OTHERS = '(others)';

export type EgressRecord = Omit<EgressRequests, 'bytes' | 'count'>;

/** Aggregates equal requests. */
export class NetworkLog {
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

  private rowOf({ door, method, target, outcome, status, reason, unlisted }: EgressRecord): EgressRequests {
    const kind = [door, outcome];
    const key = JSON.stringify([...kind, method, target]);
    const full = this.byKey.size >= MAX_ROWS && !this.byKey.has(key);
    const rowKey = full ? JSON.stringify([...kind, OTHERS]) : key;
    const names = full ? { method: '*', target: OTHERS } : { method, target };
    const why = { ...(reason !== undefined && { reason: safeLine(reason, 400) }), ...(unlisted && { unlisted }) };
    const row = this.byKey.get(rowKey) ?? { door, ...names, outcome, status, ...why, bytes: 0, count: 0 };
    this.byKey.set(rowKey, row);
    return row;
  }
}
