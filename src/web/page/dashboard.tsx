import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useState } from 'preact/hooks';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { TimeZoneNote } from './clock-time.tsx';
import { CommandPalette } from './command-palette.tsx';
import { KeysDialog, useKeys } from './keys.tsx';
import { PageHeader } from './page-header.tsx';
import { SCREENS } from './screens.ts';
import { useWindowEvent } from './use-window-event.ts';
import { blocksWork, listInbox } from '../now/inbox-entries.ts';
import { InboxScreen, useSharedItems } from '../now/inbox-screen.tsx';
import { NowScreen } from '../now/now-screen.tsx';
import { EmptyState, Problem, type Person } from './page-parts.tsx';
import { openEvents } from './read-events.ts';
import { RequestFailed } from './read-server.ts';
import { ReviewScreen } from '../review/review-screen.tsx';
import { RunScreen } from '../run/run-screen.tsx';
import { FailuresScreen } from '../../features/reports/web/failures-screen.tsx';
import { SpendScreen } from '../../features/reports/web/spend-screen.tsx';
import { SettingsScreen } from '../settings/settings-screen.tsx';
import { SubmitScreen } from '../now/submit-screen.tsx';

/** The whole page. The part of the address after `#` names the screen. */
export function Dashboard({ person }: { person: Person }): JSX.Element {
  const parts = useAddress();
  const now = useNow();
  const [isListOpen, setListOpen] = useState(true);
  const [isRunOpen, setRunOpen] = useState(true);
  const [open, setOpenWindow] = useState<'palette' | 'keys'>();
  const { runs, oldest, problem } = useRuns(setListOpen);
  const shared = useSharedItems(now.slice(0, 16));
  const waiting = listInbox(runs ?? [], shared, person).filter((entry) => entry.canDecide && blocksWork(entry)).length;
  const [screen = '', runId = '', part, rest] = parts;
  const listed = runs?.find((run) => run.runId === runId);
  const title = titleOf(parts, listed);
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title} – halo`;
  }, [waiting, title]);
  // Parts of a page, such as the tabs of an attempt and the lines of a log, keep its place.
  const pagePath = [screen, runId, ...(part === 'event' || part === undefined ? [] : [part, rest])].join('/');
  useLayoutEffect(() => scrollTo(0, 0), [pagePath]);
  const openPalette = () => setOpenWindow('palette');
  const openKeys = () => setOpenWindow('keys');
  useKeys({ openPalette, openKeys });
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => focusContent(event)}>
        Skip to the content
      </a>
      <PageHeader
        screen={screen}
        title={title}
        waiting={waiting}
        person={person}
        onPalette={openPalette}
        onKeys={openKeys}
      />
      {!(isListOpen && isRunOpen) && (
        <p class="offline" role="status">
          The connection to the server is interrupted. What you see may be old; the page connects again by itself.
        </p>
      )}
      <main id="content" tabIndex={-1}>
        {problem !== undefined && <Problem problem={problem} />}
        <Guarded key={`${screen}/${runId}`}>
          {screen === '' && <NowScreen {...{ runs, oldest, now, person }} />}
          {screen === 'inbox' && <InboxScreen runs={runs} shared={shared} person={person} now={now} />}
          {screen === 'spend' && <SpendScreen runs={runs ?? []} />}
          {screen === 'failures' && <FailuresScreen now={now} />}
          {screen === 'submit' && <SubmitScreen person={person} runs={runs ?? []} />}
          {screen === 'settings' && <SettingsScreen person={person} />}
          {screen === 'run' && part === 'diff' && (
            <ReviewScreen runId={runId} story={rest} run={listed} person={person} />
          )}
          {screen === 'run' && part !== 'diff' && (
            <RunScreen
              runId={runId}
              place={parts.slice(2)}
              latest={listed?.seq ?? 0}
              now={now}
              person={person}
              onConnection={setRunOpen}
            />
          )}
          {screen !== 'run' && !SCREENS.some(({ path }) => path === screen) && (
            <EmptyState title="There is no such screen.">
              Go to <a href="#/">Now</a>.
            </EmptyState>
          )}
        </Guarded>
        <TimeZoneNote />
      </main>
      {open === 'palette' && <CommandPalette runs={runs ?? []} onClose={() => setOpenWindow(undefined)} />}
      {open === 'keys' && <KeysDialog onClose={() => setOpenWindow(undefined)} />}
    </>
  );
}

/** The name of a screen, for the title of the page. */
function titleOf([screen = '', runId = '', part, rest]: readonly string[], run: ListedRun | undefined): string {
  if (screen !== 'run') return SCREENS.find(({ path }) => path === screen)?.name ?? 'Not found';
  const name = run === undefined || run.project === '' ? runId : run.project;
  const of = rest !== undefined && part !== 'event' ? `${rest} of ${name}` : name;
  return safeText(part === 'diff' ? `Review ${of}` : of);
}

/** A screen that fails does not take the navigation with it. */
function Guarded({ children }: { children: ComponentChildren }): JSX.Element {
  const [error] = useErrorBoundary() as [unknown, () => void];
  if (error === undefined) return <>{children}</>;
  return (
    <Problem
      problem={
        new RequestFailed(
          `This screen failed: ${error instanceof Error ? error.message : 'unknown error'}`,
          'Reload the page.',
        )
      }
    />
  );
}

function focusContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

/** The parts of the address without its query, decoded. */
function useAddress(): string[] {
  const read = () =>
    location.hash
      .replace(/^#\/?|\?.*$/g, '')
      .split('/')
      .map(decode);
  const [parts, setParts] = useState(read);
  useWindowEvent('hashchange', () => setParts(read()));
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

interface FollowedRuns {
  runs?: ListedRun[];
  /** The ended run of the first frame that was submitted first: the page follows no ended run before it. Empty: none. */
  oldest?: string;
  problem?: RequestFailed;
}

/** All open and the newest ended runs, as they change. */
function useRuns(onConnection: (isOpen: boolean) => void): FollowedRuns {
  const [listed, setListed] = useState<FollowedRuns>({});
  useEffect(
    () =>
      openEvents<{ runs: ListedRun[] }>('/v1/run-changes?follow=true', {
        onConnection,
        onProblem: (problem) => setListed((old) => ({ ...old, problem })),
        onFrames: (frames) =>
          setListed(({ runs = [], oldest = oldestEnded(frames[0]?.runs ?? []) }) => {
            const byId = new Map([...runs, ...frames.flatMap((frame) => frame.runs)].map((run) => [run.runId, run]));
            return { runs: [...byId.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)), oldest };
          }),
      }),
    [],
  );
  return listed;
}

function oldestEnded(runs: readonly ListedRun[]): string {
  const [oldest = ''] = runs.flatMap(({ runId, status }) => (status === 'ended' ? [runId] : [])).sort();
  return oldest;
}
