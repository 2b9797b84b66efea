import type { Operations } from '../../api/operations.ts';
import { prunedText } from '../../core/retention/retention.ts';
import { openSafeStream } from '../../core/text/safe-stream.ts';
import type { Cli } from '../cli.ts';

interface ShowRaw {
  operations: Operations;
  runId: string;
  story: string | undefined;
  follow: boolean;
  signal: AbortSignal;
}

/** Prints the agents' raw output: unchanged, or made safe if stdout is a terminal. */
export async function showRaw({ operations, runId, story, follow, signal }: ShowRaw, cli: Cli): Promise<void> {
  const { pruned } = (await operations.getRun({ runId })).state;
  if (pruned !== undefined) await cli.note(prunedText({ runId, pruned }));
  const frames = await operations.followRaw({ runId, story, follow }, signal);
  if (!cli.terminal.shown) {
    for await (const { raw } of frames) await cli.writeExactly(Buffer.from(raw, 'base64'));
    return;
  }
  const safe = openSafeStream();
  for await (const { raw } of frames) await cli.write(safe.write(Buffer.from(raw, 'base64')));
  await cli.write(safe.end());
}
