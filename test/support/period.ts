import { sleep } from '../../src/lib/async.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Longer than a test takes that counts in an hour or a day (UTC). */
const ENOUGH_MS = 60_000;

/** Waits for the next period if this one ends soon: at its end, what was counted is zero again. */
export async function enterPeriod(lengthMs: number): Promise<void> {
  const leftMs = lengthMs - (Date.now() % lengthMs);
  if (leftMs < ENOUGH_MS) await sleep(leftMs);
}
