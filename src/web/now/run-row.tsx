import type { JSX } from 'preact';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { formatUsd } from '../../core/budget.ts';
import { searchWords } from '../../core/text/search.ts';
import { isDone, isSelected, type StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { storyToShow } from '../../view/facts.ts';
import { projectName, runWords, storyCount, timeText } from '../../view/run-words.ts';
import { cellOf, isWorking, storyWords, workText } from '../../view/story-words.ts';
import { whyRunWaits } from '../../view/waiting.ts';
import { Age } from '../page/clock-time.tsx';
import { Marked } from '../page/marked-text.tsx';
import { storyAddress } from '../page/read-server.ts';
import { findStories } from './run-filter.ts';

interface RunRowProps {
  run: ListedRun;
  now: string;
  /** Whether it cannot continue without a person. */
  isAsking: boolean;
  /** The search that found it. */
  find: string;
}

/** A run in two lines. */
export function RunRow({ run, now, isAsking, find }: RunRowProps): JSX.Element {
  const words = searchWords(find);
  const state = runWords(run);
  const found = findStories(run, find);
  return (
    <li class="run-row">
      <a class="title" href={`#/run/${run.runId}`}>
        <Marked text={projectName(run)} words={words} />
      </a>
      <span class={`state ${state.tone}`} title={state.text}>
        {cellOf(state).text}
      </span>
      <StoryBar run={run} now={now} found={found} />
      <span class="num done">{storyCount(run)}</span>
      <span class="num time" title="Time in which stories were under way">
        {timeText(run, now)}
      </span>
      <span class="num cost">{run.usage.costUsd === undefined ? '' : formatUsd(run.usage.costUsd)}</span>
      <span class="num when soft">
        <Age at={run.endedAt ?? run.createdAt} now={now} />
      </span>
      <WhatNow {...{ run, now, isAsking, found, words }} />
      <span class="who soft" title={safeLine(run.repo.source)}>
        <Marked text={safeLine(run.user, 60)} words={words} /> ·{' '}
        <code>
          <Marked text={run.runId} words={words} />
        </code>
      </span>
    </li>
  );
}

interface WhatNowProps extends Omit<RunRowProps, 'find'> {
  found: readonly StoryState[];
  words: readonly string[];
}

/** The story that a search found or that explains the run, or why the run waits. */
function WhatNow({ run, now, isAsking, found, words }: WhatNowProps): JSX.Element {
  const [waits] = whyRunWaits({
    state: run,
    ...(run.heldBy && { heldBy: run.heldBy }),
    ...(run.engines && { engines: run.engines }),
  });
  const working = run.stories.filter((story) => isWorking(story, run));
  if (found.length === 0 && waits !== undefined && working.length === 0)
    return (
      <span class="what warn">
        {safeLine(
          waits.replaceAll('`', '').replace(/^./, (first) => first.toUpperCase()),
          400,
        )}
      </span>
    );
  const stories = found.length > 0 ? found : working.length > 0 ? working : [storyToShow(run) ?? run.stories[0]];
  const [story] = stories;
  if (story === undefined) return <span class="what" />;
  const isUsual = run.status === 'ended' && found.length === 0 && storyToShow(run) === undefined;
  const more = (isUsual ? run.stories.length : stories.length) - 1;
  return (
    <span class="what">
      {isAsking && (
        <>
          <a href="#/inbox">Waits for a person</a>:{' '}
        </>
      )}
      <a class="what-story" href={storyAddress(run.runId, story.id)}>
        <Marked text={safeLine(`${story.id} ${story.title}`)} words={words} />
      </a>
      {!isUsual && <span class={storyWords(story, run, now).tone}> {safeLine(storyNow(story, run, now), 400)}</span>}
      {more > 0 && <span class="soft"> +{more} more</span>}
    </span>
  );
}

function storyNow(story: StoryState, run: ListedRun, now: string): string {
  const text = workText(story, run, now);
  return story.waiting === undefined ? text : `${text}: ${story.waiting.why}`;
}

/** More parts could not be distinguished. */
const MAX_PARTS = 60;

/**
 * The stories of a run as parts of a bar, each a link with its title and state; of a long run those from the first that is
 * not done. They have one stop of the Tab key; arrow keys lead from one to the next.
 */
export function StoryBar({ run, now, found }: { run: ListedRun; now: string; found: readonly StoryState[] }) {
  const all = run.stories.filter((story) => isSelected(story, run));
  const begin = all.findIndex((story) => !isDone(story));
  const from = Math.max(0, Math.min(begin === -1 ? 0 : begin, all.length - MAX_PARTS));
  const stories = all.slice(from, from + MAX_PARTS);
  return (
    <ol class="story-bar" aria-label="Stories" onKeyDown={focusNext}>
      {stories.map((story, index) => {
        const { tone, text } = storyWords(story, run, now);
        return (
          <li key={story.id}>
            <a
              href={storyAddress(run.runId, story.id)}
              class={`${isWorking(story, run) ? 'works' : tone}${found.includes(story) ? ' found' : ''}`}
              aria-label={safeLine(`${story.id} ${story.title}: ${text}`, 300)}
              tabIndex={index === 0 ? 0 : -1}
            />
          </li>
        );
      })}
    </ol>
  );
}

function focusNext(event: JSX.TargetedKeyboardEvent<HTMLOListElement>): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (step === 0) return;
  const links = [...event.currentTarget.querySelectorAll('a')];
  links[links.findIndex((link) => link === document.activeElement) + step]?.focus();
  event.preventDefault();
}
