import { availableParallelism, loadavg } from 'node:os';

/** The load of this machine, and the CPUs that this process may use. */
export function readHostLoad(): { load: number; cpus: number } {
  return { load: loadavg()[0] ?? 0, cpus: availableParallelism() };
}
