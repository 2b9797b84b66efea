import type { EngineImages } from '../engine/engine-images.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { Prd } from '../prd/prd.ts';
import type { PullEvents } from '../pulls/pull-state.ts';
import { dateTime } from '../run/pruned.ts';
import { unmarkedText } from '../run/unmarked-stories.ts';
import { safeLine } from '../text/safe-text.ts';
import { shortCommit } from '../transcript/excerpt.ts';
import type { StoryLine } from '../transcript/transcript-line.ts';
import type { NeedStatus } from './event-parts.ts';
import { runLine, type EventRows } from './event-row.ts';
import type { RunCreated } from './run-created.ts';

/** Events about a run as a whole. */
export interface RunEvents extends PullEvents {
  'run.created': RunCreated;
  /** A run that this one depends on ended or was reopened. `base`: the new base of this run. */
  'need.changed': { run: string; now: NeedStatus; stopReason?: StopReason; base?: string };
  /** `channel`: how the sandboxes of its first attempt reach their gateways; `images`: what they contain, and on which engine. */
  'run.started': { channel?: 'socket' | 'stdio'; images?: EngineImages };
  /** A `halo run` process takes exclusive ownership, as with `owner` of `run.created`. */
  'run.claimed': { owner: string };
  /** `story`: the one that explains the end, if any; `by`: the user who ended it, if any. */
  'run.ended': { stopReason: StopReason; detail: string; story?: string; by?: string };
  /** A user paused the run; `now`: running stories are interrupted, without using up an attempt. */
  'run.paused': { by: string; now: boolean };
  'run.resumed': { by: string };
  /** A user retried these stories with all of their attempts; reopens an ended run. `newTests`: without their locked tests. */
  'run.retried': { by: string; stories: string[]; newTests?: true };
  /**
   * A user changed settings of the run: `set` as written, `change` the changed configuration sections, and `attempts` the
   * new maximum of attempts per story, if changed.
   */
  'run.reconfigured': { by: string; set: string[]; change: Record<string, unknown>; attempts?: number };
  /**
   * A user replaced the PRD of the run; `changed` are the ids of existing stories whose text changed, and `choices` the
   * sections of the configuration with what the new PRD chooses, if that differs.
   */
  'run.replanned': { by: string; prd: Prd; prdPath: string; changed: string[]; choices?: Record<string, unknown> };
  /** A user approved or rejected the whole run up to `tip`; the last decision counts. */
  'run.approved': { by: string; tip: string };
  'run.rejected': { by: string; tip: string; reason: string };
  /** `by`: the user who landed the run; absent: halo did, with `land.mode`. */
  'run.landed': { branch: string; from: string; to: string; by?: string };
  /** Retention removes the artifacts of the ended run, of so many bytes; `by`: a user, or `retention`. */
  'run.pruned': { by: string; bytes: number };
  /** These stories have passed but could not be marked in the PRD file. */
  'marks.failed': { stories: string[]; reason: string };
  /** The PRD file marks all passed stories again. */
  'marks.caught_up': unknown;
  /** The run's breaker opened: no story of it is started. */
  'breaker.opened': { reason: string };
  /** A user reset a breaker: `run` is the run's own, any other key a shared one. */
  'breaker.reset': { key: string };
}

export const RUN_EVENTS: EventRows<RunEvents> = {
  'run.created': {
    is: ['changes', 'audited', 'operator'],
    lines: (event) => {
      const count = event.prd.stories.length;
      const stories = `${count} ${count === 1 ? 'story' : 'stories'}`;
      return runLine(
        'strong',
        event.runId,
        `${stories}${event.prd.project === '' ? '' : ` of ${event.prd.project}`}, ${event.repo.source}${event.repo.base === '' ? '' : ` at ${shortCommit(event.repo.base)}`}${event.planning ? ', plan' : event.dry ? ', dry run' : ''}`,
      );
    },
  },
  'need.changed': { is: ['changes'], lines: (event) => needLine(event) },
  'run.started': { is: ['changes', 'audited'], lines: () => [] },
  'run.claimed': { is: ['changes'], lines: () => [] },
  'run.ended': {
    is: ['changes', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine(event.stopReason === 'SUCCESS' ? 'good' : 'bad', event.stopReason, event.detail),
  },
  'run.paused': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('warn', 'PAUSED', `by ${event.by}${event.now ? '' : ', after the story in progress'}`),
  },
  'run.resumed': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('plain', 'RESUMED', `by ${event.by}`),
  },
  'run.retried': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) =>
      runLine('plain', 'RETRIED', `by ${event.by}: ${event.stories.join(', ') || 'stories that had not started'}`),
  },
  'run.reconfigured': {
    is: ['changes', 'command', 'audited'],
    lines: (event) => runLine('plain', 'RECONFIGURED', `by ${event.by}: ${event.set.join(', ')}`),
  },
  'run.replanned': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) =>
      runLine('plain', 'REPLANNED', `by ${event.by}: ${event.prd.stories.length} stories of ${event.prdPath}`),
  },
  'run.approved': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('good', 'APPROVED', `${shortCommit(event.tip)} by ${event.by}`),
  },
  'run.rejected': {
    is: ['changes', 'command', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('bad', 'REJECTED', `${shortCommit(event.tip)} by ${event.by}: ${event.reason}`),
  },
  'run.landed': {
    is: ['changes', 'audited', 'wakes', 'operator'],
    lines: (event) =>
      runLine('good', 'LANDED', `${event.branch} moved from ${shortCommit(event.from)} to ${shortCommit(event.to)}`),
  },
  'run.pruned': {
    is: ['changes', 'audited'],
    lines: (event) => runLine('warn', 'PRUNED', `retention removed the artifacts on ${dateTime(event.at)}`),
  },
  'marks.failed': { is: ['changes', 'audited'], lines: (event) => runLine('warn', 'NOT MARKED', unmarkedText(event)) },
  'marks.caught_up': {
    is: ['changes'],
    lines: () => runLine('plain', 'MARKED', 'the PRD file marks all passed stories'),
  },
  'breaker.opened': {
    is: ['changes', 'audited', 'wakes', 'operator'],
    lines: (event) => runLine('bad', 'BREAKER OPEN', event.reason),
  },
  'breaker.reset': {
    is: ['changes', 'command', 'audited'],
    lines: (event) => runLine('good', 'BREAKER RESET', `${event.key}, by a user`),
  },
  'pull.opened': {
    is: ['changes', 'audited'],
    lines: (event) => runLine('good', 'PULL REQUEST', `#${event.number} ${safeLine(event.url, 500)}`),
  },
  'pull.closed': {
    is: ['changes', 'audited'],
    lines: (event) =>
      runLine(
        event.merged ? 'good' : 'warn',
        'PULL REQUEST',
        `#${event.number} was ${event.merged ? 'merged' : 'closed'}`,
      ),
  },
  'pull.requested': {
    is: ['changes', 'audited'],
    lines: (event) => runLine('plain', 'PULL REQUEST REQUESTED', `by ${event.by}`),
  },
};

function needLine({ run, now, stopReason }: RunEvents['need.changed']): StoryLine[] {
  switch (now) {
    case 'met':
      return runLine('plain', 'WAITED', `for ${run}, which ended with SUCCESS`);
    case 'failed':
      return runLine('warn', 'BLOCKED', `${run} ended with ${stopReason ?? 'a failure'}`);
    case 'open':
      return runLine('plain', 'WAITING', `for ${run}, which continues`);
  }
}
