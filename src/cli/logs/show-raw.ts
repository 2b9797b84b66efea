import type { Operations } from '../../api/operations.ts';
import { prunedText } from '../../core/retention/retention.ts';
import { openSafeStream } from '../../core/text/safe-stream.ts';
import type { Cli } from '../cli.ts';

export interface ShowRaw {
  operations: Operations;
  runId: string;
  story: string | undefined;
  follow: boolean;
  signal: AbortSignal;
}

/** Prints the agents' raw output: unchanged, or made safe if stdout is a terminal. */
export async function showRaw({ operations, runId, story, follow, signal }: ShowRaw, cli: Cli): Promise<void> {
  const { pruned } = (await operations.get(runId)).state;
  if (pruned !== undefined) await cli.note(prunedText({ runId, pruned }));
  const chunks = operations.raw(runId, { storyId: story, follow, signal });
  if (!cli.terminal.shown) {
    for await (const chunk of chunks) await cli.writeExactly(chunk);
    return;
  }
  const safe = openSafeStream();
  for await (const chunk of chunks) await cli.write(safe.write(chunk));
  await cli.write(safe.end());
}
