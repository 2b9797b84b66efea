import type { Cli } from './cli.ts';

/** What the person at the terminal answers, in lower case; undefined when Ctrl-C or the end of the input came first. */
export async function askPerson(question: string, cli: Cli): Promise<string | undefined> {
  const stop = new AbortController();
  const off = cli.onStop(() => stop.abort());
  try {
    return (await cli.ask?.(question, stop.signal))?.trim().toLowerCase();
  } catch {
    return undefined;
  } finally {
    off();
  }
}
