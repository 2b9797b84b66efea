import { sleep } from './sleep.ts';

/** What is to happen at a place of the program, for tests of its reliability. */
export interface Armed {
  at: string;
  fault: 'kill' | 'hang' | 'throw' | 'delay' | 'block';
  /** How long a delay or a block takes. */
  ms: number;
  /** Only the n-th time; else every time. */
  nth: number | undefined;
}

let armed: readonly Armed[] = [];
const hits = new Map<string, number>();

/** From now on these faults happen in this process; without a call, none does. */
export function armFailpoints(faults: readonly Armed[]): void {
  armed = faults;
}

/** A place where this process can be told to fail; else it does nothing. */
export async function reach(point: string): Promise<void> {
  if (armed.length === 0) return;
  const hit = (hits.get(point) ?? 0) + 1;
  hits.set(point, hit);
  const found = armed.find(({ at, nth }) => at === point && (nth === undefined || nth === hit));
  if (found === undefined) return;
  if (found.fault === 'kill') process.kill(process.pid, 'SIGKILL');
  process.emitWarning(`failpoint ${point}: ${found.fault}`);
  if (found.fault === 'delay') await sleep(found.ms);
  else if (found.fault === 'block') await block(found.ms);
  else if (found.fault === 'throw') throw new Error(`failpoint ${point}`);
  else await new Promise(() => undefined);
}

async function block(ms: number): Promise<void> {
  // The warning is said first.
  await sleep(0);
  for (const until = performance.now() + ms; performance.now() < until;);
}
