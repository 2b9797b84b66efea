import type { TestOptions } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    skipReason?: string;
  }
}

/** Options of a suite or test that is skipped if there is a reason. The reasons are printed after the tests. */
export function skipFor(reason: string | false | undefined): TestOptions {
  return typeof reason === 'string' ? { skip: true, meta: { skipReason: reason } } : {};
}
