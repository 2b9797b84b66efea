import { vi } from 'vitest';
import { PATIENCE } from './patience.ts';

/** Real, also while timers are faked. */
const clock = performance.now.bind(performance);

/** Like `vi.waitFor`, but the faked timers run meanwhile, `stepMs` between two looks, instead of the clock. */
export async function advanceUntil(condition: () => unknown, stepMs = 100): Promise<void> {
  const end = clock() + PATIENCE.timeout;
  for (;;) {
    try {
      await condition();
      return;
    } catch (error) {
      if (clock() > end) throw error;
    }
    await vi.advanceTimersByTimeAsync(stepMs);
    // What the timers began reads files and sockets.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
