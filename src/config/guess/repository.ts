/** What a repository seems to need. */
export interface Guess {
  setup: string[];
  gates: string[];
  /** Why, a sentence for each command or group of commands. */
  reasons: string[];
}

/** Text of the files in the root of a repository, by name. */
export type RootFiles = ReadonlyMap<string, string>;
