/** The option of `halo logs` that prints a log of an attempt, by the log's path within the attempt. */
export function logOption(log: string): string {
  const gate = /(?:^|\/)(\d+)\.log$/.exec(log)?.[1];
  return gate === undefined ? '--setup' : `--gate ${gate}`;
}
