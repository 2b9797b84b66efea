import type { Logger } from 'pino';
import type { Config, ModelSource } from '../config/config.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { SharedAllowance } from '../queue/allowance.ts';
import type { Proof } from '../sandbox/proof.ts';
import type { SandboxEngine } from '../sandbox/sandbox.ts';
import type { Breakers } from '../store/breaker-files.ts';
import type { Store } from '../store/store.ts';
import type { FindRoutes } from './network/registry-routes.ts';

/** How sandboxes of a run reach their gateways: through a mounted socket, or over the stdio of a bridge in the sandbox. */
export type ChannelKind = 'socket' | 'stdio';

/** What a worker process has, whatever it works on. */
export interface WorkerContext {
  home: string;
  /** The id of that HALO_HOME, whatever path it is seen at. */
  homeId: string;
  store: Store;
  /** The breakers that runs share. */
  breakers: Breakers;
  engine: SandboxEngine;
  log: Logger;
  /** The time of all workers, in ms since 1970: what one writes down another one may compare. */
  now: () => number;
  /** Knows every secret that this worker knows. */
  masker: Masker;
  /** Teaches it what the configuration of a run names. Throws CONFIG_INVALID. */
  learnSecrets(config: Config): Promise<void>;
  /** Budgets and rates of all workers; undefined where no model is asked. */
  shared: SharedAllowance | undefined;
  /** The key of a model provider. Throws MODEL_KEY_MISSING. */
  modelKey(source: ModelSource): Promise<string>;
  /** Where package registries are read from. Throws CONFIG_INVALID. */
  findRoutes: FindRoutes;
  /** Certificate authorities that this worker trusts besides the common ones (NODE_EXTRA_CA_CERTS). */
  caFile: string | undefined;
  /** How a repository gets into a sandbox here; `auto` is settled by a probe, once. */
  transport(config: Config): Promise<'mount' | 'stream'>;
  /** How a sandbox reaches its gateway here; `auto` is settled by a probe, once per runtime. */
  channel(config: Config): Promise<ChannelKind>;
  /** What the container engine was proven to keep; proven once, before the first sandbox. Throws DOCKER_UNSAFE. */
  prove(config: Config): Promise<Proof>;
  /** Lets a story end before all of its sandboxes are removed; the worker waits for it before it exits. */
  inBackground(cleaning: Promise<void>): void;
}

/** What ending a run takes; any process that has the run directory has it. */
export type RunKeeper = Pick<WorkerContext, 'home' | 'store' | 'log'>;
