import type { AgentId } from '../core/agent.ts';
import type { BreakerPolicy } from '../core/failure/breaker.ts';
import type { RetryPolicy } from '../core/failure/failure.ts';
import type { Budget } from '../core/budget.ts';
import type { ModelApi } from '../core/model-api.ts';
import type { Price } from '../core/price.ts';
import type { RegistryName } from '../core/network.ts';

/** Where the provider is, and where the worker takes the key from: exactly one of the three. */
export interface ModelSource {
  /** With its version, e.g. `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Name of an environment variable of the worker. */
  keyEnv: string | undefined;
  /** Absolute. */
  keyFile: string | undefined;
  /** For `sh`. */
  keyCommand: string | undefined;
}

/** Most requests and tokens of a model in any minute. */
export interface RateLimit {
  rpm?: number | undefined;
  tpm?: number | undefined;
}

export type ModelMode = 'live' | 'record' | 'replay';

/** Everything that decides how a run goes: parsed, with defaults, in ms and bytes. Holds no secret; frozen. */
export interface Config {
  agent: AgentId;
  /** `[agents.command] run`: the command line of the `command` agent. */
  agentCommand: string | undefined;
  setup: readonly string[];
  /** undefined: not configured, which `submit` refuses; empty: explicitly none. */
  gates: readonly string[] | undefined;
  /** Image of setup, agent and gates. */
  image: string;
  /** Environment of setup, agent and gates. */
  env: Readonly<Record<string, string>>;
  model: ModelSource & {
    /** The kind of provider; undefined: the agent has no model route. */
    api: ModelApi | undefined;
    name: string;
    /** Further names that may be asked for. */
    allow: readonly string[];
    mode: ModelMode;
    /** Folder of cassettes for `replay`, absolute: `<storyKey>.jsonl` in it. */
    cassettes: string | undefined;
    /** `recorded`: cassettes keep the pace of answers, and replays repeat it. */
    timing: 'off' | 'recorded';
  };
  /** What the model may cost; no limit where one is absent. */
  budget: Budget;
  /** Of the models that may be asked for, as far as they are known. */
  prices: Readonly<Record<string, Price>>;
  /** Most requests and tokens a minute of a model, over all workers. */
  rate: Readonly<Record<string, RateLimit>>;
  limits: {
    cpus: number;
    memoryBytes: number;
    pids: number;
    files: number;
    fileBytes: number;
    diskBytes: number;
    freeDiskBytes: number;
    wallMs: number;
    idleMs: number;
    outputBytes: number;
  };
  sandbox: {
    /** `auto`, or the name of a runtime of the engine. */
    runtime: string;
  };
  network: {
    /** Exact `host:port`s that setup may reach. */
    allow: readonly string[];
    /** How a sandbox reaches its gateway; `auto`: through a socket where one can be mounted. */
    channel: 'auto' | 'socket' | 'stdio';
    /** Those of the allowed names that may have an address which is not public. */
    mayBePrivate: readonly string[];
    /** Package registries that setup may read. */
    registries: readonly RegistryName[];
    agentRegistries: readonly RegistryName[];
    /** Further `host:port`s to which answers of a registry may lead. */
    registryHosts: readonly string[];
    /** What the mirrors read from, where it was named. */
    upstreams: Readonly<Partial<Record<RegistryName, string | undefined>>>;
    /** PEM file of further certificate authorities for setup and the mirrors, absolute. */
    caFile: string | undefined;
  };
  secrets: {
    /** Names of variables of the worker that hold secrets although they do not sound like it. */
    env: readonly string[];
    /** Files on the worker's machine whose contents are secret, absolute. */
    files: readonly string[];
    /** Regular expressions of what is secret. */
    patterns: readonly string[];
    /** What happens to a story that adds what looks like a token or a private key. */
    added: 'report' | 'block';
  };
  tests: {
    /** What happens to a story that removes, skips or empties tests that were there. */
    removed: 'report' | 'block';
    /** When the gates are run on the base commit as well. */
    baseline: 'auto' | 'always' | 'never';
    /** Report files that gates write, from the top of the repository. */
    reports: readonly string[];
  };
  run: {
    /** Most stories of a run at once. */
    parallel: number;
    /** Whether a story that failed for good keeps others from starting that do not depend on it. */
    onFailure: 'stop' | 'continue';
  };
  retry: RetryPolicy;
  breaker: BreakerPolicy;
  /** Whether stories that have landed are marked as done in the user's PRD file. */
  prd: { writeBack: boolean };
  /** What waits for a person: nothing but protected paths, each story, or the run before it is taken over. */
  approval: { mode: 'never' | 'story' | 'run' };
  /** When the run ends with SUCCESS: `ff` fast-forwards the branch of the checkout, `worktree` makes a checkout aside. */
  land: {
    mode: 'branch' | 'ff' | 'worktree';
    /** What is pushed to an address: the branch of the run, or what makes the branch that it started from go forward. */
    push: 'branch' | 'base';
    /** What a story ends with whose agent reports success without a change, once the gates pass on its base. */
    unchanged: 'pass' | 'fail';
    /** What happens to a story that adds characters to text files that people do not see. */
    hiddenCharacters: 'report' | 'block' | 'refuse';
    /** Globs of paths that only a person lets through, besides halo's own; `!` takes some out. */
    protect: readonly string[];
  };
  git: {
    authorName: string;
    authorEmail: string;
    message: string;
    sign: 'no' | 'ssh';
    /** Path of the private key on the host, absolute. */
    signingKey: string | undefined;
    /** Path of the file of allowed signers on the host, absolute. */
    allowedSigners: string | undefined;
  };
  /** How the repository gets into a sandbox: mounted mirror, or a stream of packed objects. */
  workspace: { transport: 'auto' | 'mount' | 'stream' };
}

/** Most stories at once; what is absent has no limit. One for all runs of a HALO_HOME, so no part of a run's configuration. */
export interface FleetLimits {
  max?: number;
  perHost?: number;
  perRepo?: number;
  perUser?: number;
  perAgent: Record<string, number>;
}

/** What requests over the HTTP API may do besides what they may by themselves; `host:port`s, and keys of settings. */
export interface ServerRules {
  private: readonly string[];
  options: readonly string[];
}

/** What belongs to this machine and process, not to a run. */
export interface Host {
  /** HALO_HOME, absolute. */
  home: string;
  /** HALO_REDIS_URL */
  redisUrl: string | undefined;
  /** HALO_URL and HALO_TOKEN: the API server that commands talk to instead of working here. */
  apiUrl: string | undefined;
  apiToken: string | undefined;
  /** HALO_TAKEOVER: how long a silent worker keeps its stories, in ms; absent is the default. */
  takeoverMs?: number | undefined;
}
