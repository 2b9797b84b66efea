import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config, Host } from '../config/config.ts';
import { processEnv, readSecret } from '../config/environment/host.ts';
import { transcribe } from '../core/transcript/transcript.ts';
import { askOnce } from '../lib/ask-once.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { SharedAllowance } from '../queue/allowance.ts';
import { openDocker } from '../sandbox/docker/engine.ts';
import { openProver } from '../sandbox/prove.ts';
import { openBreakers } from '../store/breaker-files.ts';
import { openStore } from '../store/store.ts';
import { openRoutes } from './network/registry-routes.ts';
import { openModelKeys } from './model-key.ts';
import { openProcessMasker } from './process-masker.ts';
import { learnSecrets } from './learn-secrets.ts';
import type { WorkerContext } from './worker-context.ts';

export interface Parts {
  host: Host;
  homeId: string;
  log: Logger;
  masker: Masker;
  /** Cleaning that goes on while the next story runs. */
  cleaning: Set<Promise<void>>;
  shared: SharedAllowance | undefined;
  now: () => number;
}

/** Puts the parts of a worker together, and has the engine proven ahead of its first story. */
export function openContext({ host, homeId, log, cleaning, masker, shared, now }: Parts): WorkerContext {
  const engine = openDocker();
  const env = processEnv();
  const modelKey = openModelKeys((name) => readSecret(env, name));
  const mountable = askOnce((dir: string) => engine.canMount(dir));
  const prove = openProver(engine, host.home);
  const reachable = askOnce((runtime: string | undefined) => engine.canReach(join(host.home, 'sockets'), runtime));
  // Ahead of the first story, which then finds it done; a failure is that story's to tell.
  const proving = Promise.allSettled([
    mountable(host.home),
    prove('auto').then(({ runtime }) => reachable(runtime)),
  ]).then(() => void cleaning.delete(proving));
  // A worker that closes at once still removes what it proved with.
  cleaning.add(proving);
  return {
    home: host.home,
    homeId,
    breakers: openBreakers(host.home),
    store: openStore(host.home, { transcribe, masker, now: () => new Date(now()) }),
    engine,
    log,
    now,
    shared,
    masker,
    learnSecrets: (config) => learnSecrets(masker, { config, home: host.home, env }),
    modelKey: async (source) => {
      const key = await modelKey(source);
      masker.learn([key]);
      return key;
    },
    findRoutes: openRoutes(host.home),
    caFile: readSecret(env, 'NODE_EXTRA_CA_CERTS'),
    transport: async ({ workspace }: Config) => {
      if (workspace.transport !== 'auto') return workspace.transport;
      return (await mountable(host.home)) ? 'mount' : 'stream';
    },
    channel: async ({ network, sandbox }) => {
      if (network.channel !== 'auto') return network.channel;
      const { runtime } = await prove(sandbox.runtime);
      return (await reachable(runtime)) ? 'socket' : 'stdio';
    },
    prove: ({ sandbox }) => prove(sandbox.runtime),
    inBackground: (work) => {
      const tracked = work
        .catch((error: unknown) => log.warn({ err: error }, 'something could not be cleaned up'))
        .finally(() => cleaning.delete(tracked));
      cleaning.add(tracked);
    },
  };
}

/** What a worker works with, for who takes no work from the queue but needs sandboxes. */
export function openIdle(parts: Omit<Parts, 'homeId' | 'masker' | 'shared' | 'now'>): WorkerContext {
  // An id of its own: a worker's sweep leaves alone what it makes.
  const masker = openProcessMasker(parts.host, processEnv());
  return openContext({ ...parts, homeId: 'verify', masker, shared: undefined, now: Date.now });
}
