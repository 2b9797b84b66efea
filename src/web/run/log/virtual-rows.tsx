import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualRowsProps {
  label: string;
  count: number;
  /** In px. */
  rowHeight: number;
  render: (index: number) => JSX.Element;
  /** Stays at the end as rows are added. */
  follows: boolean;
  /** A person scrolls away from the end. */
  onLeave: () => void;
  /** Brings a row into view each time that this object changes. */
  target?: { index: number } | undefined;
  onRange?: ((from: number, to: number) => void) | undefined;
}

/** Browsers limit the height of an element: taller lists scroll faster than they are. */
const MAX_HEIGHT = 8_000_000;
const EXTRA_ROWS = 15;

/** A scrolled list of any number of rows of the same height, of which only the visible ones are in the document. */
export function VirtualRows(props: VirtualRowsProps): JSX.Element {
  const { label, count, rowHeight, render, follows, onLeave, target, onRange } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const full = count * rowHeight;
  const tall = Math.min(full, MAX_HEIGHT);
  const scale = tall > view.height ? (full - view.height) / (tall - view.height) : 1;
  const offset = view.top * scale;
  const first = Math.max(0, Math.min(count, Math.floor(offset / rowHeight) - EXTRA_ROWS));
  const last = Math.min(count, Math.ceil((offset + view.height) / rowHeight) + EXTRA_ROWS);
  const read = () => {
    const { scrollTop: top = 0, clientHeight: height = 0 } = box.current ?? {};
    setView((old) => (old.top === top && old.height === height ? old : { top, height }));
  };
  useEffect(() => {
    const observer = new ResizeObserver(read);
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => onRange?.(first, last), [first, last]);
  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
    read();
  }, [count, follows, rowHeight]);
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null || target === undefined) return;
    current.scrollTop = (target.index * rowHeight - current.clientHeight / 2) / scale;
    read();
  }, [target, target !== undefined && target.index < count]);
  const scroll = () => {
    if (follows && box.current !== null && box.current.scrollTop < view.top - 2) onLeave();
    read();
  };
  return (
    <div class="log" role="log" aria-live="off" aria-label={label} tabIndex={0} ref={box} onScroll={scroll}>
      <div class="log-space" style={{ height: `${tall}px` }}>
        <div class="log-rows" style={{ transform: `translateY(${view.top + first * rowHeight - offset}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, at) => render(first + at))}
        </div>
      </div>
    </div>
  );
}
