import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { prunedText } from '../../core/run/pruned.ts';
import { safeOutput } from '../../core/text/safe-text.ts';
import { attemptOf, pathsOf, type WantedFiles } from './attempt-files.ts';
import type { Cli } from '../cli.ts';
import { openSafeStream } from '../../core/text/safe-stream.ts';

interface ShowFiles {
  operations: Operations;
  runId: string;
  wanted: WantedFiles;
  /** Prints bytes unchanged, unless stdout is a terminal. */
  exact: boolean;
  /** The maximum number of last lines per file. */
  tail: number | undefined;
}

/** Prints files of an attempt, with their names if there are several, and names the attempt on stderr. */
export async function showFiles({ operations, runId, wanted, exact, tail }: ShowFiles, cli: Cli): Promise<void> {
  const { state } = await operations.getRun({ runId });
  const ref = attemptOf(state, wanted);
  const artifacts = (await operations.listArtifacts({ runId })).artifacts;
  if (state.pruned !== undefined && !artifacts.some(({ path }) => path.startsWith(`${ref.story.key}/${ref.attempt}/`)))
    throw new HaloError('ARTIFACT_UNREADABLE', prunedText({ runId, pruned: state.pruned }));
  const paths = pathsOf(ref, wanted, artifacts);
  await cli.note(cli.paintErr('quiet', `story ${ref.story.id}, attempt ${ref.attempt} of ${ref.story.attempts}`));
  for (const path of paths) {
    const bytes = await operations.readArtifact({ runId, path, whole: false });
    if (paths.length > 1) await cli.print(cli.paint('quiet', `==> ${path.split('/').slice(2).join('/')} <==`));
    if (exact && !cli.terminal.shown) await cli.writeExactly(lastLines(bytes, tail));
    else await cli.write(ended(safeOutput(lastLines(bytes, tail).toString('utf8'))));
  }
}

/** The end of a file, from the beginning of a line. */
function lastLines(bytes: Buffer, count: number | undefined): Buffer {
  if (count === undefined) return bytes;
  if (count === 0) return bytes.subarray(bytes.length);
  let from = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
  for (let left = count; left > 0 && from >= 0; left -= 1)
    from = from === 0 ? -1 : bytes.lastIndexOf(NEWLINE, from - 1);
  return bytes.subarray(from + 1);
}

const NEWLINE = 0x0a;

/** Adds a line end to the last line. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

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
