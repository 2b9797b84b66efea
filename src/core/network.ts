/** The ways out of a sandbox: its model, the mirror of a package registry, a tunnel, a plain HTTP request. */
export type Door = 'model' | 'registry' | 'tunnel' | 'plain';

/** Package registries that a gateway can mirror. */
export const REGISTRIES = ['npm', 'pypi', 'crates', 'go', 'debian'] as const;
export type RegistryName = (typeof REGISTRIES)[number];

/**
 * What asked: setup before the agent, the agent, setup on the story's own commit before its gates, or setup on the commit
 * that the story builds on, with which the gates are compared. In `gates`, setup runs what the agent wrote.
 */
export type NetworkPhase = 'setup' | 'agent' | 'gates' | 'baseline';

/** Requests of one sandbox that were alike. */
export interface NetworkAsked {
  door: Door;
  method: string;
  /** A path of the model's API, `registry:package`, or a `host:port`; made safe to print. */
  target: string;
  outcome: 'served' | 'refused' | 'failed';
  /** Of the first of them. */
  status: number;
  /** Why the first of them was refused, a sentence for people. */
  reason?: string;
  /** Carried both ways through a tunnel, else of the answers' bodies; not counted for the model. */
  bytes: number;
  count: number;
}
