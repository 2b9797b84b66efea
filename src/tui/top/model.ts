import type { Usage } from '../../core/agent.ts';
import type { BreakerView, WorkerView } from '../../api/operations/schemas.ts';
import type { EngineOutage } from '../../core/engine/engine-outage.ts';
import type { RunView } from '../../api/operations/runs.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { Unconfirmed } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import type { ReadDiff } from '../diff/read-diff.ts';
import type { Action } from './actions.ts';
import type { FollowedRun, LogKind } from './followed-run.ts';
import type { ListedPrds } from './prds/prd-files.ts';

/** The views, in the order of their commands. */
export const VIEWS = [
  'runs',
  'inbox',
  'workers',
  'spend',
  'prds',
  'stories',
  'logs',
  'diff',
  'settings',
  'help',
] as const;
export type ViewName = (typeof VIEWS)[number];

/** A view that is open, with what it shows and where it is scrolled to. */
export interface TopView {
  view: ViewName;
  runId?: string;
  /** In the views of a run: only this story. */
  story?: string;
  /** In the view of PRDs: the path of the one whose stories are shown. */
  prd?: string;
  /** The selected row: its id, and its position if the row disappears. */
  selected?: string;
  index: number;
  /** Words that lines must contain; with a leading `!`, must not contain. */
  filter: string;
  /** The first shown line; in logs the number of the last shown line. Absent: the start, in logs the newest line. */
  offset?: number;
  kind: LogKind;
  wrap: boolean;
}

/** A line of input at the bottom. */
export interface InputLine {
  kind: 'command' | 'filter' | 'reason' | 'answer' | 'message' | 'name';
  text: string;
  /** The action that a reason, an answer or a message is for. */
  action?: Action;
  /** What the line of a message begins with: where it goes. */
  label?: string;
}

/** An action that waits for the user's confirmation. */
export interface Confirmation {
  action: Action;
  text: string;
}

export interface Notice {
  tone: Tone;
  text: string;
}

/** Why data could not be read. */
export interface Failure {
  message: string;
  hint?: string | undefined;
  /** What the action needs a confirmation of. */
  unconfirmed?: Unconfirmed | undefined;
}

/** A setting of a run: its key as in `halo.toml`, and its value. */
export type RunSetting = readonly [key: string, value: string];

/** What attempts used, by the day (UTC), and in total. */
export interface DailyCosts {
  rows: readonly { key: string; usage: Usage }[];
  total: { usage: Usage };
}

/** The data that views show; each part is read from one operation. */
export type TopSource = 'runs' | 'workers' | 'breakers' | 'costs' | 'run' | 'view' | 'diff' | 'prds';

/** Everything that a frame depends on. */
export interface TopState {
  /** ISO 8601 */
  now: string;
  width: number;
  height: number;
  /** Where the runs are: a folder or a URL. */
  where: string;
  /** The open views; the last one is shown. Never empty. */
  stack: readonly TopView[];
  runs?: readonly ListedRun[];
  /** How many older runs are not in `runs`. */
  older: number;
  workers?: readonly WorkerView[];
  /** The engines that take no stories. */
  outages?: readonly EngineOutage[];
  /** The breakers of repositories and providers that are not closed. */
  breakers?: readonly BreakerView[];
  /** The costs of all attempts, grouped by day. */
  costs?: DailyCosts;
  prds?: ListedPrds;
  run?: FollowedRun;
  /** The last answer about the run, for what its events do not contain. */
  view?: RunView;
  /** Of the same run. */
  settings?: readonly RunSetting[];
  diff?: { runId: string; story: string | undefined; read: ReadDiff };
  failures: Partial<Record<TopSource, Failure>>;
  /** The key that began a sequence. */
  firstKey?: string;
  inputLine?: InputLine;
  question?: Confirmation;
  notice?: Notice;
  /** The confirmed action that is executed now. */
  acting?: Action;
  /** Changes when everything is to be read again. */
  reload: number;
  ended: boolean;
}

export type TopEvent =
  | { type: 'key'; key: string }
  | { type: 'pasted'; text: string }
  | { type: 'resized'; width: number; height: number }
  | { type: 'ticked'; now: string }
  | { type: 'listed'; runs: readonly ListedRun[]; older: number }
  | { type: 'workers-listed'; workers: readonly WorkerView[]; outages: readonly EngineOutage[] }
  | { type: 'breakers-listed'; breakers: readonly BreakerView[] }
  | { type: 'costs-reported'; costs: DailyCosts }
  | { type: 'prds-listed'; prds: ListedPrds }
  | { type: 'viewed'; view: RunView; settings: readonly RunSetting[] }
  | { type: 'followed'; runId: string; events: readonly JournalEvent[] }
  | { type: 'diff-read'; runId: string; story: string | undefined; read: ReadDiff }
  | { type: 'failed'; source: TopSource; failure: Failure }
  | { type: 'acted'; text: string }
  | { type: 'refused'; failure: Failure };

/** Lines of a frame that are not its body: two above, two below. */
const FRAME_LINES = 4;

export function openState(start: Pick<TopState, 'now' | 'width' | 'height' | 'where'>): TopState {
  return { ...start, stack: [newTopView('runs')], failures: {}, older: 0, reload: 0, ended: false };
}

export function newTopView(view: ViewName, of: Pick<TopView, 'runId' | 'story'> = {}): TopView {
  return { view, ...of, index: 0, filter: '', kind: 'all', wrap: true };
}

export function currentTopView({ stack }: Pick<TopState, 'stack'>): TopView {
  return stack.at(-1) ?? newTopView('runs');
}

export function bodyHeight({ height }: Pick<TopState, 'height'>): number {
  return Math.max(1, height - FRAME_LINES);
}

/** Replaces the current view. */
export function withTopView(state: TopState, change: Partial<TopView>): TopState {
  return { ...state, stack: [...state.stack.slice(0, -1), { ...currentTopView(state), ...change }] };
}

/** Whether a text has all words of a filter; with a leading `!`, whether it does not. Upper and lower case are equal. */
export function isMatch(text: string, filter: string): boolean {
  const inverse = filter.startsWith('!');
  const words = filter
    .slice(inverse ? 1 : 0)
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '');
  if (words.length === 0) return true;
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word)) !== inverse;
}

/** The run of a place, as far as it is known. */
export function findRun(state: TopState, runId: string | undefined): ListedRun | undefined {
  if (runId === undefined) return undefined;
  if (state.run?.runId === runId && state.run.state !== undefined) return state.run.state;
  return state.runs?.find((run) => run.runId === runId);
}

/** The parts of the data that the current view needs, as keys; `runs`, `workers` and `costs` are polled. */
export function neededSources(state: TopState): { source: TopSource; runId?: string; story?: string | undefined }[] {
  const { view, runId, story } = state.stack.findLast((place) => place.view !== 'help') ?? newTopView('runs');
  if (view === 'workers') return [{ source: 'workers' }, { source: 'runs' }];
  if (view === 'inbox') return [{ source: 'breakers' }, { source: 'workers' }, { source: 'runs' }];
  if (view === 'prds') return [{ source: 'prds' }, { source: 'runs' }];
  if (view === 'spend') return [{ source: 'costs' }, { source: 'runs' }];
  if (runId === undefined) return [{ source: 'runs' }];
  if (view === 'diff')
    return [
      { source: 'diff', runId, story },
      { source: 'view', runId },
      { source: 'run', runId },
    ];
  return [
    { source: 'run', runId },
    { source: 'view', runId },
  ];
}
