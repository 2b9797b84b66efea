import type { Logger } from 'pino';
import type { Config, ModelSource, Transport } from '../config/config.ts';
import type { Env } from '../config/environment/host.ts';
import type { HaloError } from '../core/failure/errors.ts';
import type { Prd } from '../core/prd/prd.ts';
import type { PlannedAttempt } from '../core/run/plan.ts';
import type { RunState } from '../core/run/state.ts';
import type { RegistryCache } from '../gateway/registry/registry-cache.ts';
import type { UpstreamCredential } from '../gateway/registry/upstream-credentials.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { BudgetLedger } from '../queue/budget/budget-ledger.ts';
import type { IsolationReport } from '../sandbox/isolation-check/judge-isolation.ts';
import type { EngineIdentity } from '../core/engine/engine-identity.ts';
import type { EngineInfo, SandboxEngine } from '../sandbox/sandbox.ts';
import type { BreakerStore } from '../store/breaker-files.ts';
import type { SnapshotFiles } from '../store/snapshot-files.ts';
import type { Store } from '../store/store.ts';
import type { OpenLiveInput } from './attempt/live-input.ts';
import type { FindRoutes } from './network/registry-routes.ts';
import type { ServiceOpener } from './workspace/step-services.ts';

/** How sandboxes of a run reach their gateways: through a mounted socket, or over the stdio of a bridge in the sandbox. */
export type ChannelKind = 'socket' | 'stdio';

/** The engine of a worker, and what decides whether its snapshots can be used. */
export type EngineFacts = EngineIdentity & Pick<EngineInfo, 'architecture'>;

/** What all parts of a worker process use. */
export interface WorkerContext {
  home: string;
  /** The id of the HALO_HOME. It does not depend on the path. */
  homeId: string;
  store: Store;
  /** The breakers that runs share. */
  breakers: BreakerStore;
  engine: SandboxEngine;
  /** The name of the engine: see `EngineAddress`. */
  engineName: string;
  /** What the engine reported last; the first call asks it. Throws DOCKER_UNAVAILABLE. */
  engineFacts(): Promise<EngineFacts>;
  /**
   * Asks the engine for them again. `isOther`: another engine has its name now; `missing`: what an engine of config.toml lacks
   * for any story. Throws DOCKER_UNAVAILABLE, DOCKER_FAILED.
   */
  askEngine(): Promise<{ isOther: boolean; missing: HaloError | undefined }>;
  /** Aborts, with the reason, when the attempts that run now cannot continue on the engine. */
  engineLoss: AbortController;
  log: Logger;
  /** The time in ms since 1970, the same for all workers, so that they can compare each other's times. */
  now: () => number;
  /** Masks every secret that this worker knows. */
  masker: Masker;
  /** Adds the secrets that the configuration of a run names to the masker. Throws CONFIG_INVALID. */
  learnSecrets(config: Config): Promise<void>;
  /** Budgets and rates of all workers; undefined if no model is used. */
  budgetLedger: BudgetLedger | undefined;
  /** The keys of a model provider. Throws MODEL_KEY_MISSING. */
  readProviderKeys(source: ModelSource): Promise<string[]>;
  /** The epochs of attempts that are prepared before they begin, by run. */
  preparedEpochs: Map<string, number>;
  /** The records of snapshots. */
  snapshots: SnapshotFiles;
  /** How workspaces begin with a snapshot on this machine; for `auto`, one probe decides. */
  layerMode(config: Config): Promise<'overlay' | 'copy'>;
  /** Where package registries are read from. Throws CONFIG_INVALID. */
  findRoutes: FindRoutes;
  /** The credentials of registries and git servers. Throws CONFIG_INVALID. */
  readCredentials(credentials: Config['network']['credentials']): Promise<UpstreamCredential[]>;
  /** Archives of registries that are kept on this machine. */
  registryCache: RegistryCache;
  /** Certificate authorities that this worker trusts in addition to the common ones (NODE_EXTRA_CA_CERTS). */
  caFile: string | undefined;
  /** How a repository gets into a sandbox on this machine; for `auto`, one probe decides. */
  transport(config: Config): Promise<Transport>;
  /** How a sandbox reaches its gateway on this machine; for `auto`, one probe per runtime decides. */
  channel(config: Config): Promise<ChannelKind>;
  /** Whether the output of agents reaches halo through a named pipe that is mounted into their sandboxes. */
  pipesOutput(config: Config): Promise<boolean>;
  /** The result of the isolation check of the engine, which runs once, before the first sandbox. Throws DOCKER_UNSAFE. */
  checkIsolation(config: Config): Promise<IsolationReport>;
  /** The texts of /etc/passwd and /etc/group of an image; the first call for an image starts a sandbox. Throws IMAGE_MISSING, DOCKER_FAILED. */
  accounts(image: string): Promise<{ passwd: string; group: string }>;
  /**
   * Failures of attempts that this worker could not write into the journal, by `attemptKey`: the next start of the story
   * reports them.
   */
  unrecorded: Map<string, HaloError>;
  /** What runs beside commands. */
  services: ServiceOpener;
  /** What gives messages to agents while they work; undefined: only their prompts have them. */
  openLiveInput: OpenLiveInput | undefined;
  /** The environment of the worker. */
  env: Env;
  /** Whether a story is not to be done any more, as the tracker says that it comes from. Then the journal has that, too. */
  isWithdrawn(planned: PlannedStory): Promise<boolean>;
  /** Reports how many resources of dead workers a sweep has removed. */
  swept(count: number): Promise<void>;
  /** Continues cleanup after a story has ended; the worker waits for it before it exits. */
  inBackground(cleaning: Promise<void>): void;
}

/** A story of which an attempt is to start. */
export interface PlannedStory {
  state: RunState;
  planned: PlannedAttempt;
  prd: Prd;
}

/** What ending a run needs. Every process that can read the run directory has it. */
export type RunKeeper = Pick<WorkerContext, 'home' | 'store' | 'log'>;
