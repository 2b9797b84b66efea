import type { Cli } from './cli.ts';
import { stoppable } from './run/run-until-signal.ts';

/** What the person at the terminal answers, in lower case; undefined when Ctrl-C or the end of the input came first. */
export async function askPerson(question: string, cli: Cli): Promise<string | undefined> {
  const answer = await stoppable(cli, async (signal) => cli.ask?.(question, signal)).catch(() => undefined);
  return answer?.trim().toLowerCase();
}
