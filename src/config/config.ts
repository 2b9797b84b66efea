import type { ForgeName } from '../core/issues/issue-source.ts';
import type { BrokenBaseMode } from '../core/failure/broken-base.ts';
import type { TestsFirstMode } from '../core/prd/tests-first-field.ts';
import type { AgentId, ModelApi } from '../core/agent.ts';
import type { AgentOptions } from '../core/agent-options.ts';
import type { BreakerPolicy } from '../core/failure/breaker.ts';
import type { RetryPolicy } from '../core/failure/failure.ts';
import type { Unanswered } from '../core/run/questions.ts';
import type { Role } from '../core/access/access.ts';
import type { Budget } from '../core/budget.ts';
import type { Price } from '../core/price.ts';
import type { RegistryName } from '../core/journal/egress-events.ts';

/** The credential of a registry. One of the three sources of the token is set. */
export interface CredentialSource {
  scheme: 'bearer' | 'basic' | 'token';
  /** For `basic`. */
  user: string;
  /** Name of a variable in the worker's environment. */
  tokenEnv: string | undefined;
  /** Absolute. */
  tokenFile: string | undefined;
  /** A command line for `sh`. */
  tokenCommand: string | undefined;
}

/** Where a key of a model provider comes from: at most one of the three is set. */
export interface KeySource {
  /** Name of a variable in the worker's environment. */
  keyEnv: string | undefined;
  /** Absolute. */
  keyFile: string | undefined;
  /** A command line for `sh`. */
  keyCommand: string | undefined;
}

/** The URL of the provider, and the source of its key. */
export interface ModelSource extends KeySource {
  /** Includes the API version: `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Further keys, for requests while those before them have a pause. */
  keys: readonly KeySource[];
}

/** Limits of a model for requests and tokens per minute, and requests per hour. */
export interface ModelRateLimit {
  rpm?: number | undefined;
  tpm?: number | undefined;
  rph?: number | undefined;
}

export type ModelMode = 'live' | 'record' | 'replay';

/** The configuration of a run: parsed, with defaults, in ms and bytes. Contains no secrets; frozen. */
export interface Config {
  agent: AgentId;
  /** `[agents.command] run`: the command line of the `command` agent. */
  agentCommand: string | undefined;
  /** `[agents.command] answer`: the form in which the `command` agent answers. */
  agentAnswer: 'json' | 'signals';
  /** Options of the agent's program. */
  agentOptions: AgentOptions;
  setup: readonly string[];
  /** undefined: not configured, which `submit` rejects; empty: explicitly none. */
  gates: readonly string[] | undefined;
  /** Image of setup, agent and gates. */
  image: string;
  /** Environment of setup, agent and gates. */
  env: Readonly<Record<string, string>>;
  model: ModelSource & {
    /** undefined: the agent has no model route. */
    api: ModelApi | undefined;
    name: string;
    /** The models of attempts that begin during a long pause of the first one. */
    fallback: readonly string[];
    /** Further models that the agent may request. */
    allow: readonly string[];
    mode: ModelMode;
    /** Folder of cassettes for `replay`, absolute: `<storyKey>.jsonl` in it. */
    cassettes: string | undefined;
    /** `recorded`: cassettes store the timing of answers, and replays reproduce it. */
    timing: 'off' | 'recorded';
  };
  /** Spending limits; an absent one means no limit. */
  budget: Budget;
  /** Known prices of the models that may be used. */
  prices: Readonly<Record<string, Price>>;
  /** Limits per minute and hour of a model, over all workers. */
  rate: Readonly<Record<string, ModelRateLimit>>;
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
    /** Exact `host:port`s that setup may connect to. */
    allow: readonly string[];
    /** How a sandbox reaches its gateway; `auto`: through a socket where one can be mounted. */
    channel: 'auto' | 'socket' | 'stdio';
    /** Allowed names that may resolve to a non-public address. */
    mayBePrivate: readonly string[];
    /** Package registries that setup may read. */
    registries: readonly RegistryName[];
    agentRegistries: readonly RegistryName[];
    /** Further `host:port`s that a registry may redirect to. */
    registryHosts: readonly string[];
    /** URLs of the git repositories that setup may fetch: everything below them. */
    git: readonly string[];
    /** Upstream URLs of the registry proxy, where configured. */
    upstreams: Readonly<Partial<Record<RegistryName, string | undefined>>>;
    /** Upstream URLs of npm scopes such as `@acme`. */
    scopes: Readonly<Record<string, string>>;
    /** By address of the registry: `host[:port][/path]`. */
    credentials: Readonly<Record<string, CredentialSource>>;
    /** Maximum size of the archives of registries that are kept on this machine. */
    cacheBytes: number;
    /** Absolute path of a PEM file with further certificate authorities for setup and the registry proxy. */
    caFile: string | undefined;
  };
  secrets: {
    /** Names of worker variables that contain secrets although their names do not suggest it. */
    env: readonly string[];
    /** Absolute paths of files on the worker's machine with secret content. */
    files: readonly string[];
    /** Regular expressions that match secrets. */
    patterns: readonly string[];
    /** Action for a story that adds a probable token or private key. */
    added: 'report' | 'block';
    /** Rules whose findings do not count, as `rule` or `rule:glob`. */
    allow: readonly string[];
  };
  tests: {
    /** Action for a story that removes, skips or empties existing tests. */
    removed: 'report' | 'block';
    /** When to run the gates on the base commit as well. */
    baseline: 'auto' | 'always' | 'never';
    /** Action if a gate fails after the agent as it does on the base commit. */
    brokenBase: BrokenBaseMode;
    /** Whether a story begins with its tests; `report`: nothing that is wrong with them ends an attempt. */
    first: TestsFirstMode;
    /** Runs the tests of a story; contains `{files}`. */
    command?: string | undefined;
    /** Globs of the files that the tests of a story may be written to. */
    files: readonly string[];
    /** Whether an agent refactors a change that passes its locked tests and its gates. */
    refactor: boolean;
    /** Report files written by gates, relative to the repository root. */
    reports: readonly string[];
  };
  snapshot: {
    /** How workspaces start with what setup installs; `off`: setup runs for each one. */
    mode: 'auto' | 'overlay' | 'copy' | 'off';
    /** Globs of the files that decide what setup installs; undefined: halo decides. */
    inputs: readonly string[] | undefined;
    /** Share of uses for which setup runs again, from 0 to 1. */
    recheck: number;
    /** Maximum size of all snapshots. */
    maxBytes: number;
  };
  run: {
    /** Limit for concurrent stories of a run. */
    parallel: number;
    /** Whether the run starts further stories after a story failed permanently. */
    onFailure: 'stop' | 'continue';
  };
  retry: RetryPolicy;
  breaker: BreakerPolicy;
  prd: {
    /** Whether landed stories are marked as done in the user's PRD file. */
    writeBack: boolean;
    /** `required`: open stories without acceptance criteria are refused. */
    criteria: 'warn' | 'required';
  };
  /** What a prompt contains in addition to the story. Files are paths in the repository, with an optional `#heading`. */
  prompt: {
    before: string | undefined;
    standards: readonly string[];
    testStandards: readonly string[];
    /** Globs. */
    specs: readonly string[];
    vision: string | undefined;
    /** Whether the prompt also contains the other stories. */
    prd: 'story' | 'whole';
    /** 0: no limit; undefined: the default of the PRD's dialect. */
    maxTokens: number | undefined;
  };
  /** What happens to questions of agents that no person answers. */
  answers: {
    /** Undefined: they wait without limit. */
    deadlineMs: number | undefined;
    unanswered: Unanswered;
  };
  /** What requires approval: only protected paths, each story, or the run before `halo land`. */
  approval: { mode: 'never' | 'story' | 'run'; by: 'anyone' | 'others' };
  /** On SUCCESS, `ff` fast-forwards the branch of the checkout, and `worktree` creates a worktree. */
  land: {
    mode: 'branch' | 'ff' | 'worktree' | 'pr';
    /** What is pushed to a remote repository: the run's branch, or a fast-forward of the base branch. */
    push: 'branch' | 'base';
    /** How often reviews and checks of a pull request may send a story back. */
    pullRequests: 'run' | 'story';
    feedbackRounds: number;
    feedbackIntervalMs: number;
    stopLabel: string;
    /** Result of a story whose agent reports success without changing a file, if the gates pass on its base. */
    unchanged: 'trust' | 'pass' | 'fail';
    /** Action for a story that adds hidden characters to text files. */
    hiddenCharacters: 'report' | 'block' | 'refuse';
    /** Globs of paths that require approval, in addition to the built-in list; `!` excludes paths. */
    protect: readonly string[];
  };
  /** Runs whose stories are issues. */
  issues: {
    label: string;
    /** Labels that order the issues, the first one first; undefined: those that begin with the label of the run. */
    priorityLabels: readonly string[] | undefined;
    /** Whether workers report the progress of stories to their issues. */
    report: boolean;
    /** Labels of reports, instead of the label of the run with a suffix. */
    labels: Partial<Record<'running' | 'landed' | 'failed' | 'waiting', string>>;
    /** Whether reports close an issue once its commit is on the default branch. */
    close: boolean;
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
  workspace: { transport: 'auto' | Transport };
}

/** How a repository gets into a sandbox: as a mounted view of its mirror, or as a stream of packed objects. */
export type Transport = 'mount' | 'stream';

/** How to reach the API of each forge. */
export type ForgeSettings = Record<
  ForgeName,
  { url?: string | undefined; git_url?: string | undefined; token_env?: string | undefined }
>;

/** Additional permissions of requests over the HTTP API: `host:port`s, and keys of settings. */
export interface ServerRules {
  private: readonly string[];
  options: readonly string[];
  /** Requests of one token; 0: no limit. */
  requestsPerMinute: number;
  /** PEM files. */
  tls?: { certificate: string; key: string };
  /** A proxy on this machine reports the addresses of clients. */
  behindProxy?: boolean;
  /** Whether metrics need no token. */
  publicMetrics?: boolean;
  /** The address of the server for its users. */
  url?: string;
  oidc?: OidcSettings;
}

/** Sign-in through an OpenID Connect provider. */
export interface OidcSettings {
  issuer: string;
  clientId: string;
  secret: { env: string | undefined; file: string | undefined; command: string | undefined };
  /** The claim that is the name of the user. */
  userClaim: string;
  groupsClaim: string;
  /** By group. */
  roles: Readonly<Record<string, Role>>;
  /** The role of unknown persons; undefined: they are refused. */
  newUsers: Role | undefined;
  sessionMs: number;
}

/** What clients of the MCP server may do. */
export interface McpRules {
  /** They may approve, reject, land and cancel. */
  decide: boolean;
}

/** Settings of this machine and process, not of a run. */
export interface Host {
  /** HALO_HOME, absolute. */
  home: string;
  /** HALO_REDIS_URL */
  redisUrl: string | undefined;
  /** HALO_URL and HALO_TOKEN: the API server that commands use instead of the local HALO_HOME. */
  apiUrl: string | undefined;
  apiToken: string | undefined;
  /** HALO_TAKEOVER: time in ms after which a silent worker loses its stories; absent: the default. */
  takeoverMs?: number | undefined;
}
