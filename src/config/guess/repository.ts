/** What a repository seems to need. */
export interface Guess {
  setup: string[];
  gates: string[];
  /** Why, a sentence for each command or group of commands. */
  reasons: string[];
  /** Variables that the commands need in a sandbox. */
  env?: Record<string, string>;
  /** Where setup downloads from that is none of the registries, as `host:port`. */
  hosts?: string[];
  /**
   * Folders in the workspace that keep downloads from setup to the gates, and that git must ignore: all but those into
   * which tools install at the top, such as node_modules.
   */
  keeps?: string[];
}

/** Text of the files in the root of a repository, by name. */
export type RootFiles = ReadonlyMap<string, string>;
