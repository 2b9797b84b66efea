import { sleep } from './sleep.ts';

/** Waits for the work, but no longer than `ms`; a failure of the work is thrown. The work itself goes on. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<'in time' | 'late'> {
  const done = new AbortController();
  try {
    return await Promise.race([
      work.then(() => 'in time' as const),
      sleep(ms, done.signal).then(() => 'late' as const),
    ]);
  } finally {
    done.abort();
  }
}
