import type { Door, NetworkAsked } from '../../core/network.ts';
import { safeLine } from '../../core/safe-text.ts';

/** The sandbox decides how much it asks for, so there is an end to what is told apart. */
const MAX_ROWS = 200;
const OTHERS = '(others)';

export interface Asked {
  door: Door;
  method: string;
  target: string;
  outcome: NetworkAsked['outcome'];
  status: number;
  reason?: string;
}

/** Requests, with those that are alike counted together. */
export interface Traffic {
  /** Gives what is called when bytes of this request have been carried. */
  add(asked: Asked): (bytes: number) => void;
  rows(): NetworkAsked[];
}

export function createTraffic(): Traffic {
  const rows = new Map<string, NetworkAsked>();
  const rowOf = ({ door, method, target, outcome, status, reason }: Asked): NetworkAsked => {
    const kind = [door, outcome];
    const key = JSON.stringify([...kind, method, target]);
    const full = rows.size >= MAX_ROWS && !rows.has(key);
    const place = full ? JSON.stringify([...kind, OTHERS]) : key;
    const names = full ? { method: '*', target: OTHERS } : { method, target };
    const why = reason === undefined ? {} : { reason: safeLine(reason, 400) };
    const row = rows.get(place) ?? { door, ...names, outcome, status, ...why, bytes: 0, count: 0 };
    rows.set(place, row);
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
