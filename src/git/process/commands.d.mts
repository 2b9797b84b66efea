/** Runs commands: see `LaunchMessage` for what `reply` receives. */
export function createRunner(reply: (message: { id: number; chunk?: Uint8Array; result?: LaunchResult }) => void): {
  handle: (request: object) => void;
  stopAll: () => void;
};

/** What execa returns for a command, as far as it is used. */
export interface LaunchResult {
  /** Undefined if a signal ended it. Without a signal as well, it could not be run, or its end is not known. */
  exitCode?: number | undefined;
  signal?: string | undefined;
  stdout?: Uint8Array | undefined;
  stderr?: Uint8Array | undefined;
  timedOut: boolean;
  isMaxBuffer: boolean;
  isCanceled: boolean;
}
