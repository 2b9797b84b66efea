import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ClockTime } from '../../page/clock-time.tsx';
import { useNarrow } from '../../page/use-narrow.ts';
import { safeText } from '../../../core/text/safe-text.ts';
import type { RunJournal, RunLine } from '../run-journal.ts';
import { MarkedSpans } from './ansi-line.tsx';
import { LogViewer } from './log-viewer.tsx';

interface JournalLogProps {
  journal: RunJournal;
  /** Changes with each event. */
  version: number;
  runId: string;
  /** Only lines of this story, and of this attempt. */
  only?: { story: string; attempt?: number };
  seq: number | undefined;
  label: string;
}

const ROW_HEIGHT = { wide: 22, narrow: 42 };

/** What happened, line by line, from the journal. */
export function JournalLog({ journal, version, runId, only, seq, label }: JournalLogProps): JSX.Element {
  const { lines } = journal;
  const isNarrow = useNarrow(PHONE);
  const [story, setStory] = useState('');
  const chosen = only?.story ?? story;
  const shown = useMemo(
    () =>
      chosen === '' && only === undefined
        ? lines
        : lines.filter(
            (line) => line.story === chosen && (only?.attempt === undefined || only.attempt === line.attempt),
          ),
    [version, chosen, only?.attempt],
  );
  const count = shown.length;
  const target = seq === undefined ? -1 : shown.findIndex((line) => line.seq === seq);
  const stories = journal.state?.stories ?? [];
  return (
    <LogViewer
      label={label}
      count={count}
      rowHeight={isNarrow ? ROW_HEIGHT.narrow : ROW_HEIGHT.wide}
      isLive={journal.state?.status !== 'ended'}
      target={target < 0 ? undefined : target}
      search={(text) => matchesIn(shown, text)}
      render={(index, { search, isCurrent }) => (
        <Row key={index} line={shown[index]} runId={runId} search={search} isCurrent={isCurrent} hasStory={!only} />
      )}
    >
      {only === undefined && stories.length > 1 && (
        <select aria-label="Story" value={story} onChange={({ currentTarget }) => setStory(currentTarget.value)}>
          <option value="">All stories</option>
          {stories.map(({ id }) => (
            <option key={id} value={id}>
              {safeText(id)}
            </option>
          ))}
        </select>
      )}
    </LogViewer>
  );
}

interface RowProps {
  line: RunLine | undefined;
  runId: string;
  search: string;
  isCurrent: boolean;
  hasStory: boolean;
}

function Row({ line, runId, search, isCurrent, hasStory }: RowProps): JSX.Element {
  if (line === undefined) return <div class="log-row" />;
  const { seq, at, label, tone, text, isFirst } = line;
  return (
    <div class={`log-row journal${isCurrent ? ' target' : ''}${hasStory ? '' : ' one-story'}`}>
      {isFirst ? (
        <a class="log-number" href={`#/run/${runId}/event/${seq}`}>
          <ClockTime at={at} />
        </a>
      ) : (
        <span />
      )}
      {hasStory && <b>{isFirst ? line.story : ''}</b>}
      <span class="soft">{label}</span>
      <code class={tone}>
        <MarkedSpans spans={[{ text, style: {} }]} search={search} />
      </code>
    </div>
  );
}

function matchesIn(lines: readonly RunLine[], text: string) {
  const wanted = text.toLowerCase();
  const found: number[] = [];
  for (const [index, line] of lines.entries())
    if (line.text.toLowerCase().includes(wanted) || line.story.toLowerCase() === wanted) found.push(index);
  return { count: found.length, lines: found };
}

/** The width of a phone. */
const PHONE = 640;
