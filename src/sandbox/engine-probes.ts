import { join } from 'node:path';
import { z } from 'zod';
import { memoizeAsync } from '../lib/async.ts';
import { openIsolationCheck } from './isolation-check/check-isolation.ts';
import type { IsolationReport } from './isolation-check/judge-isolation.ts';
import { ProbeCache } from './probe-cache.ts';
import type { SandboxEngine } from './sandbox.ts';

/** What the container engine can do for a HALO_HOME. Each probe runs at most once; all throw DOCKER_UNAVAILABLE. */
export interface EngineProbes {
  /** Checks the isolation of sandboxes under a runtime, or `auto`. Throws DOCKER_UNSAFE. */
  isolation(runtime: string): Promise<IsolationReport>;
  /** Whether sandboxes see the files of HALO_HOME. */
  canMount(): Promise<boolean>;
  /** Whether they can connect to a socket and write to a named pipe there; undefined: the engine’s default runtime. */
  canReach(runtime: string | undefined): Promise<{ socket: boolean; pipe: boolean }>;
  /** Whether they can use overlay volumes. */
  canOverlay(): Promise<boolean>;
  /** The texts of /etc/passwd and /etc/group of an image. Throws IMAGE_MISSING, DOCKER_FAILED. */
  accounts(image: string): Promise<{ passwd: string; group: string }>;
}

/** What is not part of the engine's description can change, such as the folders that a desktop engine shares. */
const DAY_MS = 24 * 60 * 60 * 1000;

const Accounts = z.object({ passwd: z.string(), group: z.string() });
const Reach = z.object({ socket: z.boolean(), pipe: z.boolean() });

/**
 * Opens the probes of an engine, whose results are cached in `home`. What the engine cannot do is probed again by the next
 * process: the engine may be fixed.
 */
export function openEngineProbes(engine: SandboxEngine, home: string): EngineProbes {
  const cache = new ProbeCache(engine, home);
  const boolean = (name: string, run: () => Promise<boolean>) =>
    cache.get({ name, schema: z.boolean(), run, isCached: (result) => result, maxAgeMs: DAY_MS });
  const mounts = memoizeAsync(() => boolean(`mount ${home}`, () => engine.canMount(home)));
  const overlays = memoizeAsync(() => boolean('overlay', () => engine.canOverlay()));
  const accountsOf = memoizeAsync((id: string) =>
    cache.get({ name: `accounts ${id}`, schema: Accounts, run: () => engine.accounts(id) }),
  );
  return {
    isolation: openIsolationCheck(engine, cache),
    canMount: () => mounts(undefined),
    canReach: memoizeAsync((runtime: string | undefined) =>
      cache.get({
        name: `reach ${home} ${runtime ?? ''}`,
        schema: Reach,
        run: () => engine.canReach(join(home, 'sockets'), runtime),
        isCached: ({ socket, pipe }) => socket && pipe,
        maxAgeMs: DAY_MS,
      }),
    ),
    canOverlay: () => overlays(undefined),
    accounts: async (image) => accountsOf((await engine.imageId(image)) ?? image),
  };
}
