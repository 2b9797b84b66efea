import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { kindOfLine } from '../../../core/review/read-patch.ts';
import { safeText } from '../../../core/text/safe-text.ts';
import { openEvents } from '../../page/read-events.ts';
import { readJson, RECONNECTED, toRequestFailed, type RequestFailed } from '../../page/read-server.ts';
import { EmptyState, Problem } from '../../page/page-parts.tsx';
import { useWindowEvent } from '../../page/use-window-event.ts';
import { AnsiLine, MarkedSpans } from './ansi-line.tsx';
import { artifactUrl, LogPages } from './log-pages.ts';
import { LogViewer } from './log-viewer.tsx';

interface FileLogProps {
  runId: string;
  /** As in the list of artifacts. */
  path: string;
  label: string;
  /** The address of the log; `/L<number>` follows. */
  href: string;
  /** From 1. */
  line: number | undefined;
  isLive?: boolean;
  kind?: 'log' | 'diff' | 'data';
  children?: ComponentChildren;
}

const ROW_HEIGHT = 20;
const SETTLED_MS = 60;

/** A file of an attempt. Only the visible part is loaded. */
export function FileLog(props: FileLogProps): JSX.Element {
  const { runId, path, label, href, line, isLive = false, kind = 'log', children } = props;
  const [, setVersion] = useState(0);
  const [problem, setProblem] = useState<RequestFailed>();
  const [isRead, setRead] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const range = useRef({ from: 0, to: 100 });
  const pages = useMemo(() => new LogPages({ runId, path }, () => setVersion((old) => old + 1)), [runId, path]);
  const load = () => {
    const { from, to } = range.current;
    // The file of a command that has printed nothing does not exist yet.
    if (isLive && pages.total === 0) return;
    pages.load(from, to).then(
      () => setRead(true),
      (error: unknown) => setProblem(Object.assign(toRequestFailed(error), { retry })),
    );
  };
  const retry = () => {
    setProblem(undefined);
    load();
  };
  useWindowEvent(RECONNECTED, () => problem?.retry?.());
  useEffect(() => {
    setProblem(undefined);
    load();
    return () => clearTimeout(timer.current);
  }, [pages]);
  useEffect(() => {
    if (!isLive) return;
    return openEvents<{ lines: number }>(`${artifactUrl(runId, 'log-changes', path)}?follow=true`, {
      onConnection: () => undefined,
      onProblem: () => undefined,
      onFrames: (frames) => {
        pages.grow(frames.at(-1)?.lines ?? 0);
        load();
      },
    });
  }, [pages, isLive]);
  // What was written after the last frame.
  useEffect(() => {
    if (isLive) return;
    pages.grow(pages.total);
    load();
  }, [isLive]);
  if (problem !== undefined) return <Problem problem={problem} />;
  if (isLive && pages.total === 0) return <EmptyState title="It has printed nothing yet." />;
  if (isRead && pages.total === 0) return <EmptyState title="It printed nothing." />;
  return (
    <LogViewer
      key={path}
      label={label}
      count={pages.total}
      rowHeight={ROW_HEIGHT}
      isLive={isLive}
      startsAtTop={kind !== 'log'}
      target={line === undefined ? undefined : line - 1}
      download={`${artifactUrl(runId, 'artifacts', path)}?whole=true`}
      search={(text) => readJson(`${artifactUrl(runId, 'log-matches', path)}?text=${encodeURIComponent(text)}`)}
      onRange={(from, to) => {
        range.current = { from, to };
        clearTimeout(timer.current);
        timer.current = setTimeout(load, SETTLED_MS);
      }}
      render={(index, { search, isCurrent }) => {
        const text = pages.lineAt(index);
        const classes = ['log-row', isCurrent && 'target', kind === 'diff' && diffClass(text ?? '')];
        return (
          <div key={index} class={classes.filter(Boolean).join(' ')}>
            <a class="log-number" href={`${href}/L${index + 1}`} aria-label={`Line ${index + 1}`}>
              {index + 1}
            </a>
            <code>
              {text === undefined ? (
                '…'
              ) : kind === 'diff' ? (
                <MarkedSpans spans={[{ text: safeText(text), style: {} }]} search={search} />
              ) : (
                <AnsiLine text={text} search={search} />
              )}
            </code>
          </div>
        );
      }}
    >
      {children}
    </LogViewer>
  );
}

/** Only a part of the patch is known: `--- a/x` looks like a removed line, so that no removed line looks like a header. */
function diffClass(text: string): string {
  const kind = kindOfLine(text);
  return `diff-${kind === 'file' ? 'head' : kind}`;
}
