import { storyAddress } from '../../page/read-server.ts';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { StoryState } from '../../../core/run/state.ts';
import { safeLine, safeText } from '../../../core/text/safe-text.ts';
import { EmptyState } from '../../page/page-parts.tsx';
import type { Loaded } from '../../page/read-server.ts';
import { PatchNotes } from '../../review/diff-file.tsx';
import type { Patch } from '../../../core/review/read-patch.ts';
import type { AttemptRecord } from '../../../core/journal/attempts.ts';
import { useChanges } from './attempt-files.tsx';
import type { StoryScreenProps } from './attempt-props.ts';
import { compareFacts, compareFiles, type AttemptPair, type ComparedRow } from './compare-rows.ts';
import { ComparedFile } from './patch-files.tsx';

interface CompareProps extends StoryScreenProps {
  story: StoryState;
  attempts: readonly AttemptRecord[];
  /** Of the two attempts. */
  numbers: readonly number[];
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
  const chosen: AttemptPair = [left, right];
  const files = changes.flatMap(({ value }) => (value === undefined ? [] : [value.files]));
  const [results, others] = compareFacts(journal, chosen, run.status !== 'ended');
  // A file that is missing in an unknown diff is not an unchanged file.
  const rows = [...results, ...(files.length === changes.length ? compareFiles(files) : []), ...others];
  const address = storyAddress(run.runId, story.id);
  return (
    <>
      <div class="table compare" tabIndex={0} role="region" aria-label="Comparison">
        <table>
          <CompareHead pair={chosen} attempts={attempts} address={address} />
          {[...new Set(rows.map(({ group }) => group))].map((group) => (
            <tbody key={group}>
              <tr>
                <th scope="rowgroup" colSpan={3} class="group">
                  {group}
                </th>
              </tr>
              {rows
                .filter((row) => row.group === group)
                .map((row) => (
                  <CompareRow
                    key={`${row.name} ${left.attempt} ${right.attempt}`}
                    row={row}
                    pair={chosen}
                    address={address}
                  />
                ))}
            </tbody>
          ))}
        </table>
      </div>
      {chosen.map(({ attempt }, at) => (
        <UnknownDiff key={at} attempt={attempt} {...changes[at]} />
      ))}
    </>
  );
}

/** Why the files that an attempt changes are not compared, or not all of them. */
function UnknownDiff({ attempt, value, problem }: { attempt: number } & Loaded<Patch | undefined>) {
  if (value !== undefined) return <PatchNotes notes={value.notes} />;
  if (problem === undefined) return <p class="soft">Reading the diff of attempt {attempt} …</p>;
  if (problem.status === 404)
    return <p class="soft">The diff of attempt {attempt} is not kept, or has more than 16 MiB.</p>;
  return (
    <p class="notice bad" role="alert">
      The diff of attempt {attempt} cannot be read: {safeText(problem.message)}
    </p>
  );
}

interface CompareHeadProps {
  pair: AttemptPair;
  attempts: readonly AttemptRecord[];
  /** Of the story. */
  address: string;
}

function CompareHead({ pair, attempts, address }: CompareHeadProps): JSX.Element {
  const choose = (at: number, number: string) => {
    const next = pair.map(({ attempt }, index) => (index === at ? number : attempt));
    location.hash = `${address}/compare/${next.join('/')}`;
  };
  return (
    <thead>
      <tr>
        <td />
        {pair.map((chosen, at) => (
          <th key={at} scope="col">
            <span class="line">
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
              <a href={`${address}/attempt/${chosen.attempt}`} aria-label={`Open attempt ${chosen.attempt}`}>
                Open
              </a>
            </span>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface CompareRowProps {
  row: ComparedRow;
  pair: AttemptPair;
  /** Of the story. */
  address: string;
}

function CompareRow({ row, pair, address }: CompareRowProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { name, texts, contents: [left, right] = texts, isTime, links, files } = row;
  const differs = left !== right && !isTime;
  return (
    <>
      <tr class={differs ? 'differs' : ''}>
        <th scope="row">
          {files === undefined ? (
            safeLine(name, 120)
          ) : (
            <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              <span class="arrow" aria-hidden="true" />
              <code>{safeLine(name, 300)}</code>
            </button>
          )}
          {differs && <span class="differs-mark"> differs</span>}
        </th>
        {texts.map((text, index) => (
          <td key={index}>
            {links?.[index] === undefined ? safeLine(text, 400) : <a href={links[index]}>{safeLine(text, 400)}</a>}
          </td>
        ))}
      </tr>
      {isOpen && files !== undefined && (
        <tr class="opened">
          <td colSpan={3}>
            <ComparedFile
              path={name}
              sides={pair.map(({ attempt }, at) => ({
                attempt,
                href: `${address}/attempt/${attempt}/diff`,
                file: files[at],
              }))}
            />
          </td>
        </tr>
      )}
    </>
  );
}
