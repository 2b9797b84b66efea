import { once } from 'node:events';
import { sleep } from './async.ts';

/** A fault to inject at a failpoint, for reliability tests. */
interface InjectedFault {
  at: string;
  fault: 'kill' | 'hang' | 'hold' | 'throw' | 'delay' | 'block';
  /** Duration of `delay` and `block`. */
  ms: number;
  /** Inject only on the n-th hit; undefined: on every hit. */
  nth: number | undefined;
}

let armed: readonly InjectedFault[] = [];
const hits = new Map<string, number>();

/** Enables these faults in this process and disables all others. */
export function armFailpoints(faults: readonly InjectedFault[]): void {
  armed = faults;
  // A signal that comes when nothing waits does not end the process.
  if (faults.some(({ fault }) => fault === 'hold')) process.on('SIGUSR2', () => undefined);
}

/** A place where a fault can be injected; does nothing unless one is armed for it. */
export async function failpoint(point: string): Promise<void> {
  if (armed.length === 0) return;
  const hit = (hits.get(point) ?? 0) + 1;
  hits.set(point, hit);
  const found = armed.find(({ at, nth }) => at === point && (nth === undefined || nth === hit));
  if (found === undefined) return;
  if (found.fault === 'kill') process.kill(process.pid, 'SIGKILL');
  process.emitWarning(`failpoint ${point}: ${found.fault}`);
  if (found.fault === 'delay') await sleep(found.ms);
  else if (found.fault === 'block') await block(found.ms);
  else if (found.fault === 'hold') await once(process, 'SIGUSR2');
  else if (found.fault === 'throw') throw new Error(`failpoint ${point}`);
  else await hang();
}

/** Node ends a process that waits only for promises: the timer keeps a command alive long enough to be killed. */
function hang(): Promise<never> {
  return new Promise(() => setTimeout(() => undefined, HANG_ALIVE_MS));
}

const HANG_ALIVE_MS = 10_000;

async function block(ms: number): Promise<void> {
  // Lets the warning be printed first.
  await sleep(0);
  for (const until = performance.now() + ms; performance.now() < until;);
}
