import type { Host } from '../../../src/config/config.ts';

/** The surroundings of halo with this HALO_HOME: its own Redis, unless there is a URL, and no server. */
export function hostOf(home: string, redisUrl?: string): Host {
  return { home, redisUrl, apiUrl: undefined, apiToken: undefined };
}
