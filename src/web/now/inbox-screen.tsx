import { inboxContent } from '../../view/inbox.ts';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { BreakerView } from '../../api/operations/schemas.ts';
import type { EngineOutage } from '../../core/engine/engine-outage.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { EmptyState, type Person } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';
import { EntryCard } from './inbox-entry.tsx';
import { blocksWork, listInbox, type InboxEntry, type SharedItems } from './inbox-entries.ts';

interface InboxProps {
  runs: readonly ListedRun[] | undefined;
  shared: SharedItems;
  person: Person;
  now: string;
}

/** What concerns several runs; breakers of single ones are in the list of runs. */
export function useSharedItems(minute: string): SharedItems {
  const { value } = useLoaded(
    `shared ${minute}`,
    async () => {
      const [{ breakers }, { outages }] = await Promise.all([
        readJson<{ breakers: BreakerView[] }>('/v1/breakers?shared=true'),
        readJson<{ outages: EngineOutage[] }>('/v1/workers'),
      ]);
      return { breakers, outages };
    },
    true,
  );
  return value ?? NONE;
}

const NONE: SharedItems = { breakers: [], outages: [] };

/**
 * What waits for a decision of a person. The keys apply to the entry that has the focus; when it goes away, the one in its
 * place gets the focus.
 */
export function InboxScreen({ runs, shared, person, now }: InboxProps): JSX.Element {
  const [done, setDone] = useState<{ text: string; run?: ListedRun | undefined }>();
  /** What this page has decided; the list of the server may lag behind. */
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const entries = listInbox(runs ?? [], shared, person).filter((entry) => !decided.has(versionOf(entry)));
  const decisions = entries.filter(blocksWork);
  const results = entries.filter((entry) => !blocksWork(entry));
  const place = usePlaceOfFocus([...decisions, ...results]);
  const list = (shown: readonly InboxEntry[]) => (
    <ul class="runs">
      {shown.map((entry) => (
        <EntryCard
          key={entry.key}
          entry={entry}
          now={now}
          onDone={(text, run) => {
            setDone({ text, run });
            setDecided((before) => new Set([...before, versionOf(entry)]));
          }}
        />
      ))}
    </ul>
  );
  return (
    <div {...place}>
      <h1>Inbox</h1>
      <div role="status">
        {done !== undefined && (
          <p class="notice done">
            {done.text}{' '}
            {done.run !== undefined && (
              <a href={`#/run/${done.run.runId}`}>
                Open {done.run.project === '' ? done.run.runId : safeLine(done.run.project)}
              </a>
            )}
          </p>
        )}
      </div>
      {runs === undefined && <EmptyState title="Reading the runs …" />}
      {runs !== undefined && decisions.length === 0 && (
        <EmptyState title="Nothing waits for you.">This page lists {inboxContent({ all: false })}.</EmptyState>
      )}
      {list(decisions)}
      {results.length > 0 && (
        <section aria-label="Results to land">
          <h2>
            Results to land <span class="soft">{results.length}</span>
          </h2>
          {list(results)}
        </section>
      )}
    </div>
  );
}

/** Keeps the focus at its place in a list of cards when the one that has it is removed: listeners for their container. */
function usePlaceOfFocus(entries: readonly InboxEntry[]) {
  const focused = useRef<{ key: string; index: number }>();
  const keys = entries.map(({ key }) => key);
  useLayoutEffect(() => {
    const { key, index } = focused.current ?? {};
    if (key === undefined || index === undefined || keys.includes(key)) return;
    focused.current = undefined;
    if (document.activeElement !== document.body) return;
    const cards = document.querySelectorAll<HTMLElement>('.entry');
    cards[Math.min(index, cards.length - 1)]?.focus();
  }, [keys.join('\n')]);
  return {
    onFocusIn: ({ target }: FocusEvent) => {
      const key = (target as HTMLElement).closest<HTMLElement>('.entry')?.dataset['entry'];
      focused.current = key === undefined ? undefined : { key, index: keys.indexOf(key) };
    },
  };
}

/** Differs once the server reports the decision, or something that came after it. */
function versionOf(entry: InboxEntry): string {
  return `${entry.key} ${entry.of === 'run' ? entry.run.seq : JSON.stringify(entry)}`;
}
