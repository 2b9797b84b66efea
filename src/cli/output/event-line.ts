import { formatUsd } from '../../core/budget.ts';
import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { eventIs } from '../../core/journal/events.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { describeStart } from '../../core/journal/start-facts.ts';
import { PROGRESS } from '../../core/run/progress.ts';
import { needsPerson, type RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { describeEvent } from '../../core/transcript/transcript.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';
import { projectName } from '../../view/run-words.ts';

const MAX_TEXT_LENGTH = 200;
const LABELS: Partial<Record<JournalEvent['type'], string>> = {
  'retry.scheduled': 'retry ',
  'breaker.held': 'waiting ',
  'story.postponed': 'waiting ',
};

/** One line for the operator of a server, e.g. `12:03:11  shop 1ng62…  US-001 passed 5bc2f62 42.0s $0.26`, or none. */
export function eventLine(event: JournalEvent, state: RunState, paint: Paint): string | undefined {
  const said = textOf(event, state);
  if (said === undefined) return undefined;
  const time = new Date(event.at).toTimeString().slice(0, 8);
  const run = `${projectName({ ...state, project: '' })} ${state.runId}`;
  return `${paint('quiet', `${time}  ${run}`)}  ${paint(said.tone, said.text)}`;
}

function textOf(
  event: JournalEvent,
  state: RunState,
): { tone: 'plain' | 'good' | 'bad' | 'warn'; text: string } | undefined {
  switch (event.type) {
    case 'run.created': {
      const count = state.stories.length;
      const who = safeLine(state.user, 64);
      const what = `${count} ${count === 1 ? 'story' : 'stories'}, ${safeLine(state.repo.source, MAX_TEXT_LENGTH)}`;
      return { tone: 'plain', text: `submitted by ${who} (${what})` };
    }
    case 'run.ended': {
      const took = formatElapsed(msBetween(state.startedAt ?? state.createdAt, event.at));
      const facts = [took, ...costText(state.usage.costUsd)].join(' ');
      const tone = event.stopReason === 'SUCCESS' ? 'good' : event.stopReason === 'NEEDS_HUMAN' ? 'warn' : 'bad';
      return { tone, text: `${event.stopReason} ${safeLine(event.detail, MAX_TEXT_LENGTH)} ${facts}` };
    }
    case 'story.ended': {
      const story = state.stories.find(({ id }) => id === event.story);
      const took = story?.startedAt === undefined ? [] : [formatElapsed(msBetween(story.startedAt, event.at))];
      const facts = [...took, ...costText(event.usage.costUsd)];
      const id = safeLine(event.story, 40);
      if (event.verdict === 'passed') {
        const commit = event.commit?.slice(0, 7) ?? 'without a change';
        return {
          tone: 'good',
          text: [id, event.described ? 'described' : 'passed', ...(event.described ? [] : [commit]), ...facts].join(
            ' ',
          ),
        };
      }
      const [why = ''] = event.summary.split('\n');
      const { word, tone } = PROGRESS[event.verdict];
      return {
        tone,
        text: [
          id,
          needsPerson({ progress: event.verdict }) ? `${word}:` : word,
          safeLine(why, MAX_TEXT_LENGTH),
          ...facts,
        ].join(' '),
      };
    }
    case 'story.started': {
      const facts = describeStart(event);
      const how = facts.map(({ phrase }) => ` ${phrase}`).join('');
      if (event.workerDied)
        return { tone: 'warn', text: `${safeLine(event.story, 40)} restarted${how} because its worker died` };
      if (event.attempt !== 1 && facts.every(({ kind }) => kind === 'engine')) return undefined;
      return { tone: 'plain', text: `${safeLine(event.story, 40)} started${how}` };
    }
    default: {
      if (!eventIs(event, 'operator')) return undefined;
      const [line] = describeEvent(event);
      if (line === undefined) return undefined;
      const label = LABELS[event.type] ?? '';
      const text = `${line.story === '' ? '' : `${line.story} `}${label}${line.text}`;
      return { tone: 'warn', text: safeLine(text, MAX_TEXT_LENGTH) };
    }
  }
}

function costText(costUsd: number | undefined): string[] {
  return costUsd === undefined ? [] : [formatUsd(costUsd)];
}
