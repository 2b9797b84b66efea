import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeJson, safeLine } from '../../core/text/safe-text.ts';
import { EXCERPT, WHOLE } from '../../core/transcript/excerpt.ts';
import { padToWidth } from '../../lib/string-width.ts';
import { storyOf } from '../../core/run/state.ts';
import type { Cli } from '../cli.ts';
import { nextSteps } from '../../core/run/next-steps.ts';
import { stepLines } from '../../tui/step-lines.ts';
import { terminalColumns } from '../output/table.ts';
import { transcriptLines } from './transcript-lines.ts';

interface ShowEvents {
  operations: Operations;
  runs: readonly RunState[];
  signal: AbortSignal;
  follow: boolean;
  story?: string;
  attempt?: number;
  /** ISO 8601: earlier events are omitted. */
  since: string | undefined;
  /** The maximum number of last lines per run; with `follow`, of the existing lines. */
  tail?: number;
  json: boolean;
  /** Nothing is truncated, and complete logs of setup and gates are shown. */
  full: boolean;
  timestamps: boolean;
  /** One line for each event, as `halo watch` shows them. */
  live?: boolean;
}

/** A run whose events are shown. */
interface EventSource {
  run: RunState;
  /** seq of the last event read. */
  seen: number;
  linesOf: (event: JournalEvent) => Promise<string[]>;
}

const NAME_WIDTH = 24;

/**
 * Prints the events of runs; those of several runs in the order of time, with the run at the start of each line. With
 * `follow`, continues until all runs have ended. Throws STORY_NOT_FOUND if none of the runs has the story.
 */
export async function showEvents(options: ShowEvents, cli: Cli): Promise<void> {
  const { story, follow, signal, tail } = options;
  const runs = options.runs.filter(({ stories }) => story === undefined || stories.some(({ id }) => id === story));
  const [first] = options.runs;
  if (story !== undefined && runs.length === 0 && first !== undefined) storyOf(first, story);
  const name = namer(runs, cli);
  const sources = runs.map((run): EventSource => ({ run, seen: 0, linesOf: openLines(run, name(run), options, cli) }));
  const kept: { source: EventSource; line: string }[] = [];
  for await (const { source, event } of inOrder(sources, options)) {
    const lines = await source.linesOf(event);
    if (tail === undefined) await cli.print(...lines);
    else keep(kept, source, lines, tail);
  }
  await cli.print(...kept.map(({ line }) => line));
  if (!follow) return;
  await Promise.all(sources.map((source) => followOn(source, options, signal, cli)));
  const [followed, ...others] = runs;
  if (followed !== undefined && others.length === 0 && !options.json && !signal.aborted)
    await noteNextSteps(options.operations, followed.runId, cli);
}

/** What the user can do about an ended run; on stderr, so that a file with the log contains only the log. */
async function noteNextSteps(operations: Operations, runId: string, cli: Cli): Promise<void> {
  const { state } = await operations.getRun({ runId });
  if (state.status !== 'ended') return;
  const steps = stepLines(nextSteps(state), terminalColumns(cli) ?? Number.POSITIVE_INFINITY, cli.paintErr);
  if (steps.length > 0) await cli.note('', ...steps);
}

async function followOn(source: EventSource, { operations }: ShowEvents, signal: AbortSignal, cli: Cli): Promise<void> {
  const following = await operations.followEvents(
    { runId: source.run.runId, after: source.seen, follow: true },
    signal,
  );
  for await (const { event } of following) await cli.print(...(await source.linesOf(event)));
}

function keep(kept: { source: EventSource; line: string }[], source: EventSource, lines: string[], most: number): void {
  kept.push(...lines.map((line) => ({ source, line })));
  let excess = kept.filter((each) => each.source === source).length - most;
  for (let index = 0; excess > 0 && index < kept.length;) {
    if (kept[index]?.source !== source) index += 1;
    else {
      kept.splice(index, 1);
      excess -= 1;
    }
  }
}

/** The existing events of the journals, earliest first. */
async function* inOrder(
  sources: readonly EventSource[],
  { operations, signal }: ShowEvents,
): AsyncGenerator<{ source: EventSource; event: JournalEvent }> {
  const heads = await Promise.all(
    sources.map(async (source) => {
      const events = await operations.followEvents({ runId: source.run.runId, after: 0, follow: false }, signal);
      const iterator = events[Symbol.asyncIterator]();
      return { source, iterator, next: await iterator.next() };
    }),
  );
  for (;;) {
    const open = heads.filter(({ next }) => next.done !== true);
    const head = open.reduce<(typeof heads)[number] | undefined>((best, each) => {
      const at = ({ next }: typeof each) => (next.done === true ? '' : next.value.event.at);
      return best === undefined || at(each) < at(best) ? each : best;
    }, undefined);
    if (head === undefined || head.next.done === true) return;
    const { event } = head.next.value;
    head.source.seen = event.seq;
    yield { source: head.source, event };
    head.next = await head.iterator.next();
  }
}

/** The prefix of the lines of a run; empty if there is only one run. */
function namer(runs: readonly RunState[], cli: Cli): (run: RunState) => string {
  if (runs.length === 1) return () => '';
  // Ids of one day differ only at their end.
  const text = ({ project, runId }: RunState) => `${safeLine(project, NAME_WIDTH - 9)} ${runId.slice(-6)}`;
  const width = Math.max(...runs.map((run) => text(run).length));
  return (run) => `${cli.paint('strong', padToWidth(text(run), width))} ${cli.paint('quiet', '|')} `;
}

function openLines(run: RunState, name: string, options: ShowEvents, cli: Cli): EventSource['linesOf'] {
  const { runId } = run;
  const { story, attempt, since, json, full, timestamps, live = false, operations } = options;
  const isWanted = (event: JournalEvent) =>
    (since === undefined || event.at >= since) &&
    (story === undefined || ('story' in event && event.story === story)) &&
    (attempt === undefined || ('attempt' in event && event.attempt === attempt));
  if (json) {
    const owner = name === '' ? {} : { runId };
    return (event) => Promise.resolve(isWanted(event) ? [safeJson({ ...owner, ...event })] : []);
  }
  const toLines = transcriptLines(cli, {
    runId,
    timestamps,
    live,
    extent: full ? WHOLE : EXCERPT,
    indent: name === '' ? 0 : NAME_WIDTH + 3,
  });
  return async (event) => {
    const lines = toLines(event);
    if (!isWanted(event)) return [];
    const shown = full ? toLines(await withWholeLog(event, run, operations)) : lines;
    return shown.map((line) => `${name}${line}`);
  };
}

/** The last event of a command, with its complete output if that still exists. */
async function withWholeLog(event: JournalEvent, run: RunState, operations: Operations): Promise<JournalEvent> {
  if (event.type !== 'gate.ended' && event.type !== 'setup.ended') return event;
  const key = run.stories.find(({ id }) => id === event.story)?.key;
  try {
    const log = await operations.readArtifact({
      runId: run.runId,
      path: `${key}/${event.attempt}/${event.log}`,
      whole: false,
    });
    const whole = { ...event, tail: log.toString('utf8') };
    if (whole.type === 'gate.ended') delete whole.failed;
    return whole;
  } catch (error) {
    if (error instanceof HaloError && error.code === 'ARTIFACT_UNREADABLE') return event;
    throw error;
  }
}
