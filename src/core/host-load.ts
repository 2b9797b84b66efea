/** How much a machine has to do: the average number of processes that want a CPU, in the last minute. */
export interface HostLoad {
  load: number;
  cpus: number;
}

/** From this load for each CPU, a process gets less than half of the time that it asks for. */
const BUSY_LOAD = 2;

/** A sentence without a full stop about a busy machine; undefined if it is not busy. */
export function describeBusyHost({ load, cpus }: HostLoad): string | undefined {
  if (load < BUSY_LOAD * cpus) return undefined;
  return `this machine is busy: its load is ${load.toFixed(1)} on ${cpus} ${cpus === 1 ? 'CPU' : 'CPUs'}`;
}

/**
 * What the log says about an agent that has printed nothing for some time: only a busy machine explains it. `host` is that
 * of its sandbox, undefined if its load is unknown.
 */
export function describeStarving(silentMs: number, host: HostLoad | undefined): string | undefined {
  const busy = host && describeBusyHost(host);
  if (busy === undefined) return undefined;
  const minutes = Math.round(silentMs / 60_000);
  return `the agent has printed nothing for ${minutes} min, and ${busy}, so it may only be slow (docs/performance.md, "A busy host")`;
}
