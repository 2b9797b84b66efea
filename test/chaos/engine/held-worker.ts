import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import type { HaloProcess } from '../../support/halo/halo-process.ts';

/** A worker that waits at each failpoint that it comes by. */
export interface HeldWorker {
  process: HaloProcess;
  /** Where it waits now. */
  waitsAt(): Failpoint[];
  release(): void;
  isGone(): boolean;
  /** How often a pattern occurs in what it has logged. */
  count(pattern: RegExp): number;
}

/** For a process whose failpoints have the fault `hold`. */
export function followHeld(process: HaloProcess): HeldWorker {
  const all = () => [...process.stderr().matchAll(/failpoint (\S+): hold/g)].map(([, at]) => at as Failpoint);
  let released = 0;
  return {
    process,
    waitsAt: () => all().slice(released),
    release() {
      released = all().length;
      process.process.kill('SIGUSR2');
    },
    isGone: () => process.process.exitCode !== null || process.process.signalCode !== null,
    count: (pattern) => [...process.stderr().matchAll(pattern)].length,
  };
}
