import type { Operations } from '../../api/operations.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { ProgressDisplay } from '../../tui/terminal.ts';
import { summaryLines } from '../../tui/summary.ts';
import type { Cli } from '../cli.ts';
import { transcriptPrinter } from '../logs/transcript-lines.ts';

export interface FollowRun {
  operations: Operations;
  runId: string;
  cli: Cli;
  json: boolean;
  /** Lines begin after this event; a drawn frame needs all events. */
  after: number;
  /** Whether the end of the run is reported. */
  report: boolean;
  /** Whether this process executes the run. */
  executed: boolean;
  signal: AbortSignal;
  /**
   * Called when drawing starts: until it ends, notices must be printed with `say`, so that they do not break the frame.
   */
  onDrawn: (say: (line: string) => void) => void;
  /** Lines go to stderr, and stdout has nothing but the run directory. */
  quiet?: boolean | undefined;
  /** Earlier messages about the run, for the frame. */
  notes: readonly string[];
}

/**
 * Shows a run until it ends: drawn on a terminal, as lines elsewhere. Returns undefined if the signal aborted first.
 */
export async function followRun(options: FollowRun): Promise<StopReason | undefined> {
  const { operations, runId, cli, json, after, signal } = options;
  const { dir } = await operations.getRun({ runId });
  const drawn = !json && cli.terminal.drawable;
  const shown = json ? showJson(cli) : drawn ? showDrawn(options, dir) : showLines(options);
  let end: StopReason | undefined;
  try {
    for await (const { event } of await operations.followEvents(
      { runId, after: drawn ? 0 : after, follow: true },
      signal,
    )) {
      await shown.show(event);
      if (event.type === 'run.ended') end = event.stopReason;
    }
  } finally {
    await shown.close();
  }
  // The run may already have ended.
  if (end === undefined && !signal.aborted) return (await operations.getRun({ runId })).state.stopReason;
  return end;
}

interface Show {
  show(event: JournalEvent): Promise<void> | void;
  close(): Promise<void> | void;
}

function showJson(cli: Cli): Show {
  return { show: (event) => cli.printJson(event), close: () => undefined };
}

/** Enough bytes of a log for its last line. */
const LAST_BYTES = 4096;

function showDrawn({ operations, runId, cli, report, executed, onDrawn, notes }: FollowRun, dir: string): Show {
  const keys = executed ? 'Ctrl-C stops after this story, d detaches' : 'Ctrl-C stops following';
  const readEnd = (path: string) => operations.readArtifact({ runId, path, last: LAST_BYTES, whole: false });
  const { screen, paint } = cli;
  const progress = new ProgressDisplay({ screen, paint, dir, report, keys, notes, readEnd });
  onDrawn(progress.say);
  return progress;
}

/** Plain lines, then the verdict; the run directory is the last line, for scripts. */
function showLines({ operations, runId, cli, report, quiet = false }: FollowRun): Show {
  const say = (...lines: string[]) => (quiet ? cli.note(...lines) : cli.print(...lines));
  const paint = quiet ? cli.paintErr : cli.paint;
  const print = transcriptPrinter({ ...cli, paint, print: say }, { runId });
  return {
    show: (event) => (report || event.type !== 'run.ended' ? print(event) : undefined),
    async close() {
      if (!report) return;
      const { state, dir } = await operations.getRun({ runId });
      const block = summaryLines({ state, width: 120, paint, dir });
      await say(...(state.status === 'ended' ? ['', ...block, ''] : []));
      await cli.print(dir);
    },
  };
}
