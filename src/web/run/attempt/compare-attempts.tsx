import type { JSX } from 'preact';
import { formatUsd } from '../../../core/budget.ts';
import type { Phase } from '../../../core/journal/phase.ts';
import type { StoryState } from '../../../core/run/state.ts';
import { formatElapsed, msBetween } from '../../../core/text/format-elapsed.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { exitText } from '../../../core/transcript/excerpt.ts';
import { formatClock } from '../../page/clock-time.tsx';
import { EmptyState } from '../../page/page-parts.tsx';
import type { AttemptRecord, RunJournal } from '../run-journal.ts';
import { storyAddress } from '../stories/story-words.ts';
import { attemptWords } from '../waterfall.tsx';
import { useChanges } from './attempt-files.tsx';
import { sumUsage } from './attempt-tables.tsx';
import type { StoryScreenProps } from './attempt-props.ts';

interface CompareProps extends StoryScreenProps {
  story: StoryState;
  attempts: readonly AttemptRecord[];
  /** Of the two attempts. */
  numbers: readonly number[];
}

interface Compared {
  group: string;
  name: string;
  texts: [string, string];
  /** What is compared instead of the texts. */
  contents?: [string, string];
  /** Times always differ: they are not marked. */
  isTime?: true;
}

/** Two attempts at a story side by side, with what differs marked. */
export function CompareAttempts({ journal, run, view, story, attempts, numbers }: CompareProps): JSX.Element {
  const pair = [numbers[0], numbers[1]].map((number) => attempts.find(({ attempt }) => attempt === number));
  const key = view?.state.stories.find(({ id }) => id === story.id)?.key;
  const path = (attempt: AttemptRecord | undefined) =>
    key === undefined || attempt === undefined ? undefined : `${key}/${attempt.attempt}/diff.patch`;
  const changes = [useChanges(run.runId, path(pair[0])), useChanges(run.runId, path(pair[1]))] as const;
  const [left, right] = pair;
  if (left === undefined || right === undefined) return <EmptyState title="There is no such attempt." />;
  const files = changes.map(({ value = [] }) =>
    value.map(({ path: file, added, removed, hunks, notes }) => ({
      name: file,
      text: `+${added} −${removed}`,
      content: JSON.stringify([notes, hunks]),
    })),
  );
  const rows = [...compareFacts(journal, [left, right], run.status !== 'ended'), ...compareNamed('Files', files)];
  const choose = (at: number, number: string) => {
    const next = [left.attempt, right.attempt].map((old, index) => (index === at ? number : old));
    location.hash = `${storyAddress(run.runId, story.id)}/compare/${next.join('/')}`;
  };
  return (
    <div class="table compare" tabIndex={0} role="region" aria-label="Comparison">
      <table>
        <thead>
          <tr>
            <td />
            {[left, right].map((chosen, at) => (
              <th key={at} scope="col">
                <select
                  aria-label={at === 0 ? 'First attempt' : 'Second attempt'}
                  value={chosen.attempt}
                  onChange={({ currentTarget }) => choose(at, currentTarget.value)}
                >
                  {attempts.map(({ attempt }) => (
                    <option key={attempt} value={attempt}>
                      Attempt {attempt}
                    </option>
                  ))}
                </select>
              </th>
            ))}
          </tr>
        </thead>
        {[...new Set(rows.map(({ group }) => group))].map((group) => (
          <tbody key={group}>
            <tr>
              <th scope="rowgroup" colSpan={3} class="group">
                {group}
              </th>
            </tr>
            {rows
              .filter((row) => row.group === group)
              .map(({ name, texts, contents: [left, right] = texts, isTime }) => {
                const differs = left !== right && !isTime;
                return (
                  <tr key={name} class={differs ? 'differs' : ''}>
                    <th scope="row">
                      {safeLine(name, 120)}
                      {differs && <span class="differs-mark"> differs</span>}
                    </th>
                    {texts.map((text, index) => (
                      <td key={index}>{safeLine(text, 400)}</td>
                    ))}
                  </tr>
                );
              })}
          </tbody>
        ))}
      </table>
    </div>
  );
}

type Pair = [AttemptRecord, AttemptRecord];

function compareFacts(journal: RunJournal, pair: Pair, isOpen: boolean): Compared[] {
  const both = (text: (attempt: AttemptRecord) => string) => pair.map(text) as [string, string];
  const result = (name: string, text: (attempt: AttemptRecord) => string): Compared => ({
    group: 'Result',
    name,
    texts: both(text),
  });
  const usage = (name: string, text: (used: ReturnType<typeof sumUsage>) => string): Compared => ({
    group: 'Usage',
    name,
    texts: both((each) => text(sumUsage(journal.usageOf(each)))),
  });
  const phases = [...new Set(pair.flatMap(({ bars }) => bars.map(({ phase }) => phase)))];
  const gates = pair.map((each) =>
    journal.commandsOf(each).map(({ command, exitCode, ms = 0, at }) => ({
      name: command,
      // The time of a command always differs.
      content: at === undefined ? 'running' : exitText(exitCode),
      text:
        at === undefined
          ? 'running'
          : `${exitCode === 0 ? '✓ passed' : `✗ ${exitText(exitCode)}`}, ${formatElapsed(ms)}`,
    })),
  );
  return [
    result('Verdict', (each) => `${attemptWords(each, isOpen).mark} ${attemptWords(each, isOpen).text}`),
    result('Why', ({ end }) => end?.summary ?? '–'),
    { ...result('Started', ({ startedAt }) => formatClock(startedAt)), isTime: true },
    {
      ...result('Time', ({ startedAt, end }) =>
        end === undefined ? '–' : formatElapsed(msBetween(startedAt, end.at)),
      ),
      isTime: true,
    },
    result('Agent', ({ agent }) => [agent?.agent, agent?.model].filter(Boolean).join(' ') || '–'),
    result('Base', ({ base }) => base.slice(0, 10)),
    ...phases.map((phase): Compared => ({
      group: 'Phases',
      name: phase,
      texts: both((each) => phaseTime(each, phase)),
      isTime: true,
    })),
    ...compareNamed('Setup and gates', gates),
    usage('Requests', ({ requests }) => requests.toLocaleString('en')),
    usage('Input tokens', ({ inputTokens }) => inputTokens.toLocaleString('en')),
    usage('Output tokens', ({ outputTokens }) => outputTokens.toLocaleString('en')),
    usage('Cost', ({ costUsd }) => (costUsd === undefined ? '–' : formatUsd(costUsd))),
  ];
}

function phaseTime({ bars }: AttemptRecord, phase: Phase): string {
  const own = bars.filter((bar) => bar.phase === phase);
  if (own.length === 0) return '–';
  return formatElapsed(own.reduce((sum, { from, to = from }) => sum + to - from, 0));
}

interface NamedPart {
  name: string;
  text: string;
  content: string;
}

/** Rows for what one or both have, by name; the last one of a name counts. */
function compareNamed(group: string, sides: readonly (readonly NamedPart[])[]): Compared[] {
  const [left = new Map<string, NamedPart>(), right = new Map<string, NamedPart>()] = sides.map(
    (side) => new Map(side.map((part) => [part.name, part])),
  );
  return [...new Set([...left.keys(), ...right.keys()])].map((name) => ({
    group,
    name,
    texts: [left.get(name)?.text ?? '–', right.get(name)?.text ?? '–'],
    contents: [left.get(name)?.content ?? '', right.get(name)?.content ?? ''],
  }));
}
