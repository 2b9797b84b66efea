import { storyAddress } from '../page/read-server.ts';
import type { JSX } from 'preact';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import type { StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { EmptyState } from '../page/page-parts.tsx';
import { formatClock } from '../page/clock-time.tsx';
import type { AttemptRecord } from '../../core/journal/attempts.ts';
import { PHASES } from '../../core/journal/phase.ts';
import { findGaps } from '../../view/attempt-gaps.ts';
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
  const colors = [...new Set(phases.map((phase) => PHASES[phase].color))];
  const gaps = attempts.map((each) => findGaps(each, attemptBefore(attempts, each)));
  return (
    <div class="waterfall">
      <ul class="legend" aria-label="Phases">
        {colors.map((color) => (
          <li key={color}>
            <span class={`swatch ${color}`} /> {phases.filter((phase) => PHASES[phase].color === color).join(', ')}
          </li>
        ))}
        {attempts.some((each) => each.phases.some(({ failed }) => failed)) && (
          <li>
            <span class="swatch failed" /> failed
          </li>
        )}
        {gaps.some((each) => each.length > 0) && (
          <li>
            <span class="swatch gap" /> waiting
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
        {attempts.map((each, index) => {
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
                {gaps[index]?.map((gap) => (
                  <span
                    key={`${gap.why} ${gap.from}`}
                    class="bar gap"
                    title={`${gap.why} ${formatElapsed(gap.to - gap.from)}`}
                    style={{ left: place(gap.from), width: `${((gap.to - gap.from) / (until - from)) * 100}%` }}
                  >
                    <span class="bar-name">{gap.why} </span>
                    <span class="bar-time">{formatElapsed(gap.to - gap.from)}</span>
                  </span>
                ))}
                {barsOf(each, end).map(({ phase, start, to, failed }) => (
                  <a
                    key={`${phase} ${start}`}
                    class={`bar ${PHASES[phase].color}${failed === true ? ' failed' : ''}`}
                    href={`${storyAddress(runId, each.story, each.attempt)}/${'commands' in PHASES[phase] ? 'log' : 'agent'}`}
                    title={`${phase} ${formatElapsed(to - start)}${failed === true ? ', failed' : ''}: open its log`}
                    // The page of the attempt has the same links.
                    tabIndex={-1}
                    style={{ left: place(start), width: `${(Math.max(0, to - start) / (until - from)) * 100}%` }}
                  >
                    <span class="bar-name">{phase} </span>
                    <span class="bar-time">{formatElapsed(to - start)}</span>
                  </a>
                ))}
              </span>
              <span class="phases">
                {formatClock(each.startedAt)}
                {gaps[index]?.map(({ from: start, to, why }) => ` · ${why} ${formatElapsed(to - start)}`)}
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

function attemptBefore(attempts: readonly AttemptRecord[], { story, attempt }: AttemptRecord) {
  return attempts.find((each) => each.story === story && each.attempt === attempt - 1);
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
