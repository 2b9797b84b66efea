import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { CommandPalette } from './command-palette.tsx';
import { countInbox, InboxScreen, useBreakers } from '../work/inbox-screen.tsx';
import { NowScreen } from '../work/now-screen.tsx';
import { EmptyState, Problem, type Person } from './page-parts.tsx';
import { openEvents, RequestFailed } from './read-server.ts';
import { ReviewScreen } from '../review/review-screen.tsx';
import { RunScreen } from '../run/run-screen.tsx';
import { FailuresScreen, SpendScreen } from '../reports/report-screens.tsx';
import { SettingsScreen } from '../reports/settings-screen.tsx';
import { SubmitScreen } from '../work/submit-screen.tsx';

/** The screens of the navigation, with their keys. */
export const SCREENS = [
  { path: '', key: '1', name: 'Now' },
  { path: 'inbox', key: '2', name: 'Inbox' },
  { path: 'spend', key: '3', name: 'Spend' },
  { path: 'failures', key: '4', name: 'Failures' },
  { path: 'submit', key: '5', name: 'Submit' },
  { path: 'settings', key: '6', name: 'Settings' },
] as const;

/** The whole page. The part of the address after `#` names the screen. */
export function Dashboard({ person }: { person: Person }): JSX.Element {
  const parts = useAddress();
  const now = useNow();
  const [isOpen, setOpen] = useState(true);
  const [palette, setPalette] = useState(false);
  const { runs, problem } = useRuns(setOpen);
  const breakers = useBreakers(now.slice(0, 16));
  const waiting = countInbox(runs ?? [], breakers);
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}halo`;
  }, [waiting]);
  useKeys(() => setPalette(true));
  const [screen = '', runId = '', part, rest] = parts;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => focusContent(event)}>
        Skip to the content
      </a>
      <header>
        <a class="brand" href="#/">
          halo
        </a>
        <nav aria-label="Screens">
          {SCREENS.map(({ path, key, name }) => (
            <a
              key={path}
              href={`#/${path}`}
              aria-current={screen === path ? 'page' : undefined}
              aria-keyshortcuts={key}
            >
              {name}
              {path === 'inbox' && waiting > 0 && <span class="count">{waiting}</span>}
            </a>
          ))}
        </nav>
        <button type="button" onClick={() => setPalette(true)} aria-keyshortcuts="Control+K">
          Go to … <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <form method="post" action="/sign-out">
          <span class="soft">
            {person.name} · {person.role}
          </span>{' '}
          <button type="submit">Sign out</button>
        </form>
      </header>
      {!isOpen && (
        <p class="offline" role="status">
          The connection to the server is interrupted. What you see may be old; the page connects again by itself.
        </p>
      )}
      <main id="content" tabIndex={-1}>
        {problem !== undefined && <Problem problem={problem} />}
        {screen === '' && <NowScreen runs={runs} now={now} />}
        {screen === 'inbox' && <InboxScreen runs={runs ?? []} breakers={breakers} person={person} />}
        {screen === 'spend' && <SpendScreen />}
        {screen === 'failures' && <FailuresScreen />}
        {screen === 'submit' && <SubmitScreen person={person} />}
        {screen === 'settings' && <SettingsScreen person={person} />}
        {screen === 'run' && part === 'diff' && (
          <ReviewScreen runId={runId} story={rest} run={runs?.find((run) => run.runId === runId)} person={person} />
        )}
        {screen === 'run' && part !== 'diff' && (
          <RunScreen
            runId={runId}
            story={part === 'story' ? rest : undefined}
            seq={part === 'event' ? Number(rest) : undefined}
            now={now}
            person={person}
            onConnection={setOpen}
          />
        )}
        {screen !== 'run' && !SCREENS.some(({ path }) => path === screen) && (
          <EmptyState title="There is no such screen." />
        )}
      </main>
      {palette && <CommandPalette runs={runs ?? []} onClose={() => setPalette(false)} />}
    </>
  );
}

function focusContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

/** The parts of the address, decoded. */
function useAddress(): string[] {
  const read = () => location.hash.replace(/^#\/?/, '').split('/').map(decode);
  const [parts, setParts] = useState(read);
  useEffect(() => {
    const update = () => setParts(read());
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return parts;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The time, each second while the page is visible. */
function useNow(): string {
  const [now, setNow] = useState(() => new Date().toISOString());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(new Date().toISOString());
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** All open and the newest ended runs, as they change. */
function useRuns(onConnection: (isOpen: boolean) => void): { runs?: ListedRun[]; problem?: RequestFailed } {
  const [listed, setListed] = useState<{ runs?: ListedRun[]; problem?: RequestFailed }>({});
  useEffect(
    () =>
      openEvents<{ runs: ListedRun[] }>('/v1/run-changes?follow=true', {
        onConnection,
        onProblem: (message) => setListed((old) => ({ ...old, problem: new RequestFailed(message) })),
        onFrames: (frames) =>
          setListed(({ runs = [] }) => {
            const byId = new Map([...runs, ...frames.flatMap((frame) => frame.runs)].map((run) => [run.runId, run]));
            return { runs: [...byId.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)) };
          }),
      }),
    [],
  );
  return listed;
}

/** The entry after or before the one that has the focus; the first or last one if none has. */
function nextOf(entries: readonly HTMLElement[], focused: HTMLElement | null, step: number): HTMLElement | undefined {
  const at = focused === null ? -1 : entries.indexOf(focused);
  return at === -1 ? entries.at(step > 0 ? 0 : -1) : entries[at + step];
}

/** Digits open screens, Ctrl+K the palette, `/` the search; other keys press the button that has them. */
function useKeys(openPalette: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      const from = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || from.closest('input, textarea, dialog') !== null) return;
      const entries = [...document.querySelectorAll<HTMLElement>('.entry')];
      const focused = from.closest<HTMLElement>('.entry');
      // In a list, a key without a chosen entry does nothing: entries move when something changes.
      const place = entries.length === 0 ? document : focused;
      const step = { j: 1, k: -1 }[event.key];
      const button = [...(place?.querySelectorAll<HTMLButtonElement>('button[data-key]') ?? [])].find(
        ({ dataset }) => dataset.key === event.key,
      );
      const screen = SCREENS.find(({ key }) => key === event.key);
      if (event.key === '/') document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
      else if (step !== undefined && entries.length > 0) nextOf(entries, focused, step)?.focus();
      else if (button !== undefined) button.click();
      else if (screen !== undefined) location.hash = `#/${screen.path}`;
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
