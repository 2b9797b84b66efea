/** Kinds of outgoing requests: to the model, to a package registry, to a git server, through a tunnel, plain HTTP. */
export type EgressKind = 'model' | 'registry' | 'git' | 'tunnel' | 'plain';

/** Package registries that a gateway can proxy. */
export const REGISTRIES = ['npm', 'pypi', 'crates', 'go', 'debian'] as const;
export type RegistryName = (typeof REGISTRIES)[number];

/**
 * Who sent a request: setup before the agent, the agent, setup of the candidate before its gates, or setup of the base
 * commit that the gates are compared with. In `gates`, setup may run code that the agent wrote.
 */
export type NetworkPhase = 'setup' | 'agent' | 'gates' | 'baseline';

/** Identical requests of one sandbox. */
export interface EgressRequests {
  route: EgressKind;
  method: string;
  /** A path of the model's API, `registry:package`, or `host:port`; safe to print. */
  target: string;
  outcome: 'served' | 'refused' | 'failed';
  /** HTTP status of the first one. */
  status: number;
  /** Why the first one was refused or failed, a sentence. */
  reason?: string;
  /** It was refused only because `[network] allow` does not have its target. */
  unlisted?: true;
  /** Bytes in both directions of a tunnel, else of response bodies; 0 for the model. */
  bytes: number;
  count: number;
}
