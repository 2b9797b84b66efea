import type { JSX } from 'preact';
import { storyTexts } from '../../../core/prd/story-text.ts';
import { canRetry } from '../../../core/run/actions.ts';
import type { RunState, StoryState } from '../../../core/run/state.ts';
import { safeLine, safeText } from '../../../core/text/safe-text.ts';
import { ActionButton, EmptyState, mayDo } from '../../page/page-parts.tsx';
import { runPath, storyAddress } from '../../page/read-server.ts';
import { ClockTime } from '../../page/clock-time.tsx';
import type { AttemptRecord } from '../../../core/journal/attempts.ts';
import type { RunJournal } from '../run-journal.ts';
import { storyFacts } from '../../../view/facts.ts';
import { FactList } from '../run-header.tsx';
import type { StoryScreenProps } from './attempt-props.ts';
import { AttemptView } from './attempt-view.tsx';
import { CompareAttempts } from './compare-attempts.tsx';
import { MessageForm } from './message-form.tsx';
import { attemptWords } from '../../../view/attempt-words.ts';
import { storyWords } from '../../../view/story-words.ts';

/** A story with its attempts. */
export function StoryScreen(props: StoryScreenProps): JSX.Element {
  const { journal, run, place, person, now } = props;
  const [, storyId = '', what, ...rest] = place;
  const story = run.stories.find(({ id }) => id === storyId);
  if (story === undefined) return <EmptyState title="This run has no such story." />;
  const attempts = journal.attemptsOf(storyId);
  const { mark, tone, text } = storyWords(story, run, now);
  const isCompared = what === 'compare';
  const chosen = what === 'attempt' ? attempts.find(({ attempt }) => String(attempt) === rest[0]) : attempts.at(-1);
  // Another attempt may have no cassette, and no log of the same name.
  const tab = what === 'attempt' && rest[1] !== 'cassette' ? rest[1] : undefined;
  return (
    <>
      <p class="crumbs">
        <a href={`#/run/${run.runId}`}>{run.project === '' ? run.runId : safeLine(run.project)}</a>
        <span class="soft"> / {run.runId}</span>
      </p>
      <div class="run-title">
        <h1>
          {safeLine(storyId)} <span class="story-name">{safeLine(story.title)}</span>
        </h1>
        <span class={`badge ${tone}`}>
          {mark} {text}
        </span>
        <div class="run-actions">
          <a class="button" href={`#/run/${run.runId}/diff/${encodeURIComponent(storyId)}`}>
            Review
          </a>
          {run.status === 'ended' && canRetry(run, storyId) === true && mayDo(person, 'control', run.user) && (
            <ActionButton
              label="Retry"
              doing="Retrying"
              path={runPath(run.runId, '/retry')}
              body={{ story: storyId }}
            />
          )}
        </div>
      </div>
      <FactList facts={storyFacts(story)} />
      <MessageForm key={storyId} run={run} story={story} person={person} />
      <StoryText story={story} journal={journal} runId={run.runId} />
      {attempts.length === 0 && <EmptyState title="No attempt has started." />}
      {attempts.length > 0 && (
        <nav class="attempts" aria-label="Attempts">
          {attempts.map((each) => (
            <AttemptLink
              key={each.attempt}
              attempt={each}
              run={run}
              tab={tab}
              isCurrent={!isCompared && each === chosen}
            />
          ))}
          {attempts.length > 1 && (
            <a
              href={`${storyAddress(run.runId, storyId)}/compare/${attempts.at(-2)?.attempt}/${attempts.at(-1)?.attempt}`}
              aria-current={isCompared ? 'page' : undefined}
            >
              Compare
            </a>
          )}
        </nav>
      )}
      {isCompared && <CompareAttempts {...props} attempts={attempts} story={story} numbers={rest.map(Number)} />}
      {!isCompared && attempts.length > 0 && chosen === undefined && <EmptyState title="There is no such attempt." />}
      {!isCompared && chosen !== undefined && (
        <AttemptView {...props} key={chosen.attempt} story={story} attempt={chosen} part={rest.slice(1)} />
      )}
    </>
  );
}

interface AttemptLinkProps {
  attempt: AttemptRecord;
  run: RunState;
  /** The part of the attempt that the link opens; undefined: its summary. */
  tab: string | undefined;
  isCurrent: boolean;
}

function AttemptLink({ attempt, run, tab, isCurrent }: AttemptLinkProps) {
  const { mark, tone, text } = attemptWords(attempt, run.status !== 'ended');
  const address = storyAddress(run.runId, attempt.story, attempt.attempt);
  return (
    <a
      href={tab === undefined ? address : `${address}/${encodeURIComponent(tab)}`}
      aria-current={isCurrent ? 'page' : undefined}
    >
      <b class={tone} aria-hidden="true">
        {mark}
      </b>{' '}
      Attempt {attempt.attempt} <span class={tone}>{text}</span>{' '}
      <span class="soft">
        <ClockTime at={attempt.startedAt} />
      </span>
    </a>
  );
}

function StoryText({ story, journal, runId }: { story: StoryState; journal: RunJournal; runId: string }) {
  const text = journal.prd?.stories.find(({ id }) => id === story.id);
  const { dependsOn } = story;
  const texts = text === undefined ? [] : storyTexts(text);
  const hasText = text !== undefined && (text.description !== '' || text.acceptance.length > 0 || texts.length > 0);
  return (
    <>
      {dependsOn.length > 0 && (
        <p class="soft">
          Depends on{' '}
          {dependsOn.map((id) => (
            <a key={id} class="need" href={storyAddress(runId, id)}>
              {safeLine(id)}
            </a>
          ))}
        </p>
      )}
      {hasText && (
        <details class="story-text">
          <summary>Description and criteria</summary>
          <p class="said">{safeText(text.description)}</p>
          <ul>
            {text.acceptance.map((each, index) => (
              <li key={index}>{safeText(each)}</li>
            ))}
          </ul>
          {texts.map(({ label, text: said }) => (
            <section key={label}>
              <h4>{label}</h4>
              <p class="said">{safeText(said)}</p>
            </section>
          ))}
        </details>
      )}
    </>
  );
}
