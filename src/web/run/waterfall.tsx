import { storyAddress } from '../page/read-server.ts';
import type { JSX } from 'preact';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import type { StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { EmptyState } from '../page/page-parts.tsx';
import { formatClock } from '../page/clock-time.tsx';
import type { AttemptRecord } from '../../core/journal/attempts.ts';
import { attemptWords } from '../../view/attempt-words.ts';

interface WaterfallProps {
  runId: string;
  /** For the titles of the stories; absent if the page names the story. */
  stories?: readonly StoryState[];
  attempts: readonly AttemptRecord[];
  /** ISO 8601; the end of the axis while something is running. */
  now: string;
  isOpen: boolean;
}

const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400].map((s) => s * 1_000);
const MAX_TICKS = 7;
/** A label needs this part of the axis. */
const LAST_TICK = 0.94;

/** When each phase of each attempt ran, on an axis of clock time. */
export function Waterfall({ runId, stories, attempts, now, isOpen }: WaterfallProps): JSX.Element {
  if (attempts.length === 0) return <EmptyState title="No attempt has started." />;
  const ends = attempts.flatMap(({ phases, end, startedAt }) => [
    Date.parse(end?.at ?? (isOpen ? now : startedAt)),
    ...phases.map(({ to, from }) => Date.parse(to ?? from)),
  ]);
  const from = Math.min(...attempts.map(({ startedAt }) => Date.parse(startedAt)));
  const until = Math.max(from + 1_000, ...ends);
  const place = (at: number) => `${((at - from) / (until - from)) * 100}%`;
  const ticks = toTicks(from, until);
  const phases = [...new Set(attempts.flatMap((each) => each.phases.map(({ phase }) => phase)))];
  return (
    <div class="waterfall">
      <ul class="legend" aria-label="Phases">
        {phases.map((phase) => (
          <li key={phase}>
            <span class={`swatch ${phase}`} /> {phase}
          </li>
        ))}
        {attempts.some((each) => each.phases.some(({ failed }) => failed)) && (
          <li>
            <span class="swatch failed" /> failed
          </li>
        )}
      </ul>
      <div class="axis" aria-hidden="true">
        {ticks.map(({ at, text }) => (
          <span key={at} style={{ left: place(at) }}>
            {text}
          </span>
        ))}
      </div>
      <ol>
        {attempts.map((each) => {
          const { mark, tone, text } = attemptWords(each, isOpen);
          const end = each.end === undefined ? until : Date.parse(each.end.at);
          const title = stories?.find(({ id }) => id === each.story)?.title;
          return (
            <li key={`${each.story} ${each.attempt}`}>
              <a class="label" href={storyAddress(runId, each.story, each.attempt)}>
                <b class={tone} aria-hidden="true">
                  {mark}
                </b>{' '}
                <b>{safeLine(each.story, 40)}</b> attempt {each.attempt} <span class={tone}>{text}</span>
                {title !== undefined && <span class="label-title soft">{safeLine(title)}</span>}
              </a>
              <span class="track">
                {ticks.map(({ at }) => (
                  <span key={at} class="tick" style={{ left: place(at) }} />
                ))}
                {barsOf(each, end).map(({ phase, start, to, failed }) => (
                  <span
                    key={`${phase} ${start}`}
                    class={`bar ${phase}${failed === true ? ' failed' : ''}`}
                    style={{ left: place(start), width: `${(Math.max(0, to - start) / (until - from)) * 100}%` }}
                  />
                ))}
              </span>
              <span class="phases">
                {formatClock(each.startedAt)}
                {barsOf(each, end).map(
                  ({ phase, start, to, failed }) =>
                    ` · ${phase} ${formatElapsed(to - start)}${failed === true ? ', failed' : ''}`,
                )}
              </span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** The phases of an attempt; times are ms since 1970. One that is running ends at `end`. */
function barsOf({ phases }: AttemptRecord, end: number) {
  return phases.map(({ phase, from, to, failed }) => {
    const start = Date.parse(from);
    return { phase, start, to: to === undefined ? end : Date.parse(to), failed };
  });
}

/** Round times, with seconds if they are close. */
function toTicks(from: number, until: number): { at: number; text: string }[] {
  const step = STEPS.find((each) => (until - from) / each <= MAX_TICKS) ?? (until - from) / MAX_TICKS;
  const last = from + (until - from) * LAST_TICK;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= last; at += step)
    ticks.push({ at, text: formatClock(at).slice(0, step < 60_000 ? 8 : 5) });
  return ticks;
}
