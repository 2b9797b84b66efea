/** The guessed configuration of a repository. */
export interface Guess {
  setup: string[];
  gates: string[];
  /** The reasons, one sentence per command or group of commands. */
  reasons: string[];
  /** The files that a gate was derived from, by gate. */
  sources?: Record<string, string[]>;
  /** Environment variables that the commands require in a sandbox. */
  env?: Record<string, string>;
  /** Hosts that setup downloads from, other than the known registries, as `host:port`. */
  hosts?: string[];
  /**
   * Workspace folders for downloads, which git must ignore. Standard folders such as node_modules are not listed.
   */
  keeps?: string[];
}

/** Text of the files in the root of a repository, by name. */
export type RootFiles = ReadonlyMap<string, string>;

/** Settings beyond setup and gates that a repository seems to need. */
export interface GuessedSettings {
  settings: GuessedSetting[];
  /** Variables of the commands, and the files that set them. */
  env: Record<string, string>;
  envFrom: string[];
  /** What was not understood, a sentence each. */
  notes: string[];
}

export interface GuessedSetting {
  /** A table, such as `services.db`, or a key at the top, such as `services`. */
  name: string;
  value: string | Record<string, unknown>;
  /** What it is, in a word or two, and why it is proposed. */
  what: string;
  why: string;
  /** Nothing says that commands need it: it is written as a comment. */
  isHint?: true;
  /** Members that a table may want, written as a comment, and why. */
  maybe?: { value: Record<string, unknown>; why: string };
}
