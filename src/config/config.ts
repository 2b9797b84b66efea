import type { ModelApi } from '../core/agent.ts';
import type { AgentChoice } from '../core/agent-choice.ts';
import type { AgentOptions } from '../core/agent-options.ts';
import type { AgentVersions } from '../core/agent-program.ts';
import type { Price } from '../core/price.ts';
import type { CamelCase } from './camel-case.ts';
import type { HaloToml, HostTable } from './schema/halo-toml.ts';

/** All settings: parsed, with defaults, in ms and bytes. Each key says in the schema what it means. */
export type Settings = CamelCase<HaloToml>;

/** What a run has of an agent. */
export interface AgentSettings {
  /** The command line of the `command` agent, or of one that speaks the Agent Client Protocol. */
  agentCommand: string | undefined;
  /** The form in which the agent answers, if its program takes no schema. */
  agentAnswer: 'json' | 'signals';
  /** Options of the agent's program. */
  agentOptions: AgentOptions;
  model: Omit<Settings['model'], 'name' | 'baseUrl' | 'effort'> & {
    /** undefined: the agent has no model route. */
    api: ModelApi | undefined;
    name: string;
    /** Includes the API version: `https://api.openai.com/v1`. */
    baseUrl: string;
  };
}

/** The configuration of a run: its settings, and what follows from several of them. Contains no secrets; frozen. */
export interface Config
  extends Omit<Settings, HostTable | 'agents' | 'providers' | 'model' | 'prices' | 'review'>, AgentSettings {
  review: {
    when: Settings['review']['when'];
    /** Who may review, the best first: the first one with a key does. */
    reviewers: readonly ReviewerSettings[];
  };
  /** The versions of the programs of agents, where they are not those of halo's image. */
  agentVersions: AgentVersions;
  /** The agents, other than `agent`, that its stories may use. */
  otherAgents: Readonly<Record<string, AgentSettings>>;
  /** What its PRD chooses for stories, by their ids: only what the run can use. */
  storyChoices: Readonly<Record<string, AgentChoice>>;
  /** Known prices of the models that may be used. */
  prices: Readonly<Record<string, Price>>;
}

/** An agent that may review, and its model. Its options are halo's: no request chooses them. */
export interface ReviewerSettings extends Pick<Config, 'agent' | 'agentCommand'> {
  model: Pick<Config['model'], 'api' | 'name'> & ModelSource;
}

/** The URL of the provider, and the source of its keys. */
export type ModelSource = Pick<Config['model'], 'baseUrl' | 'keyEnv' | 'keyFile' | 'keyCommand' | 'keys'>;

/** Where a key of a model provider comes from: at most one of the three is set. */
export type KeySource = ModelSource['keys'][number];

/** How a repository gets into a sandbox: as a mounted view of its mirror, or as a stream of packed objects. */
export type Transport = Exclude<Config['workspace']['transport'], 'auto'>;

/** Sign-in through an OpenID Connect provider. */
export type OidcSettings = Settings['server']['oidc'] & { issuer: string; clientId: string };

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
