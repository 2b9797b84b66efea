import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { toRequestFailed } from '../../page/read-server.ts';
import { CopyButton } from '../../page/copy-button.tsx';
import { SaveButton } from '../../page/save-button.tsx';
import { VirtualRows } from './virtual-rows.tsx';

/** Which lines of a log contain the searched text; `lines` has the first ones, in order. */
interface FoundLines {
  count: number;
  lines: readonly number[];
}

/** What a row shows of the search. */
interface RowMarks {
  search: string;
  isCurrent: boolean;
}

interface LogViewerProps {
  label: string;
  count: number;
  rowHeight: number;
  render: (index: number, marks: RowMarks) => JSX.Element;
  search: (text: string) => FoundLines | Promise<FoundLines>;
  /** The line that a link points to. */
  target: number | undefined;
  /** Whether lines are still written: then the log follows them. */
  isLive: boolean;
  /** Logs are shown from their end, where the result is; other files from their start. */
  startsAtTop?: boolean;
  /** Where the whole log can be saved from. */
  download?: string;
  onRange?: (from: number, to: number) => void;
  children?: ComponentChildren;
}

const TYPING_MS = 250;

/** A log of any length, with search and the newest lines. */
export function LogViewer(props: LogViewerProps): JSX.Element {
  const {
    label,
    count,
    rowHeight,
    render,
    search,
    target,
    isLive,
    startsAtTop = false,
    download,
    onRange,
    children,
  } = props;
  const [text, setText] = useState('');
  const [found, setFound] = useState<FoundLines>();
  const [problem, setProblem] = useState<string>();
  const [at, setAt] = useState(0);
  const [place, setPlace] = useState<{ index: number } | undefined>(undefined);
  const [follows, setFollows] = useState(!startsAtTop && target === undefined);
  const shown = useRef(0);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (target === undefined) return;
    setFollows(false);
    setPlace({ index: target });
  }, [target]);
  const go = (next: number, { lines }: Pick<FoundLines, 'lines'> = found ?? { lines: [] }) => {
    const index = lines[next];
    if (index === undefined) return;
    setAt(next);
    setFollows(false);
    setPlace({ index });
    frame.current?.scrollIntoView({ block: 'nearest' });
  };
  useEffect(() => {
    setFound(undefined);
    setProblem(undefined);
    if (text === '') return;
    let isCurrent = true;
    const run = async () => {
      try {
        const result = await search(text);
        if (!isCurrent) return;
        setFound(result);
        const next = result.lines.findIndex((line) => line >= shown.current);
        go(Math.max(0, next), result);
      } catch (error) {
        if (isCurrent) setProblem(toRequestFailed(error).message);
      }
    };
    const timer = setTimeout(() => void run(), TYPING_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  const length = found?.lines.length ?? 0;
  const step = (by: number) => length > 0 && go((at + by + length) % length);
  const current = found?.lines[at];
  return (
    <div class="log-frame" ref={frame}>
      <div class="log-tools">
        {children}
        <input
          type="search"
          aria-label="Search the log"
          placeholder="Search (/)"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            step(event.shiftKey ? -1 : 1);
          }}
        />
        {text !== '' && (
          <>
            <span class="soft log-found" role="status">
              {problem ?? describeFound(found, at)}
            </span>
            <button type="button" aria-label="Previous match" disabled={length === 0} onClick={() => step(-1)}>
              ↑
            </button>
            <button type="button" aria-label="Next match" disabled={length === 0} onClick={() => step(1)}>
              ↓
            </button>
          </>
        )}
        <span class="log-end">
          <span class="soft">
            {count.toLocaleString('en')} {count === 1 ? 'line' : 'lines'}
          </span>
          {target !== undefined && <CopyButton text={location.href} name={`the link to line ${target + 1}`} />}
          {download !== undefined && <SaveButton path={download} />}
          {isLive && (
            <button
              type="button"
              data-key="f"
              aria-keyshortcuts="f"
              aria-pressed={follows}
              onClick={() => setFollows(!follows)}
            >
              Follow
            </button>
          )}
        </span>
      </div>
      <VirtualRows
        label={label}
        count={count}
        rowHeight={rowHeight}
        follows={follows}
        onLeave={() => setFollows(false)}
        target={place}
        onRange={(from, to) => {
          shown.current = from;
          onRange?.(from, to);
        }}
        render={(index) => render(index, { search: text, isCurrent: index === current || index === target })}
      />
    </div>
  );
}

function describeFound(found: FoundLines | undefined, at: number): string {
  if (found === undefined) return 'Searching …';
  if (found.count === 0) return 'Nothing matches.';
  return `${(at + 1).toLocaleString('en')} of ${found.count.toLocaleString('en')}`;
}
