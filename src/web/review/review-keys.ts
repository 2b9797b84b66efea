import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useWindowEvent } from '../page/use-window-event.ts';
import type { PatchFile } from '../../core/review/read-patch.ts';
import type { Place } from './review-state.ts';

interface KeyHandlers {
  onShow: (place: Place) => void;
  onFile: (path: string) => void;
  onViewed: (path: string) => void;
  /** Comments on the chosen lines, or on this one. Absent: the person may not comment. */
  onComment: ((first: Place) => void) | undefined;
}

/** `j`, `k`: next, previous file; `n`, `N`: next, previous change; `v`: the file is viewed; `c`: comment. */
export function useReviewKeys(files: readonly PatchFile[], handlers: KeyHandlers): void {
  const last = useRef<Place>();
  const places = useMemo(() => files.flatMap(placesOf), [files]);
  useWindowEvent('keydown', (event) => {
    const from = event.target as HTMLElement;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      from.closest('input:not([type=checkbox]), textarea, dialog, select') !== null
    )
      return;
    const current = findCurrentFile();
    const at = files.findIndex(({ path }) => path === current);
    const [fileStep, hunkStep] = [{ j: 1, k: -1 }[event.key], { n: 1, N: -1 }[event.key]];
    if (fileStep !== undefined) {
      const next = files[at + fileStep];
      if (next !== undefined) handlers.onFile(next.path);
    } else if (hunkStep !== undefined) {
      const first = places.findIndex(({ path }) => path === (current ?? files[0]?.path));
      const known = last.current?.path === current ? places.indexOf(last.current as Place) : -1;
      last.current = places[known === -1 ? (hunkStep > 0 ? first : first - 1) : known + hunkStep] ?? last.current;
      if (last.current !== undefined) handlers.onShow(last.current);
    } else if (event.key === 'c' && handlers.onComment !== undefined) {
      const place = findFocusedPlace() ?? places.find(({ path }) => path === current) ?? places[0];
      if (place !== undefined) handlers.onComment(place);
    } else if (event.key === 'v' && current !== undefined) handlers.onViewed(current);
    else return;
    event.preventDefault();
  });
}

/** The first changed line of each hunk. */
function placesOf({ path, hunks }: PatchFile): Place[] {
  return hunks.flatMap(({ lines }): Place[] => {
    const line = lines.find(({ kind }) => kind !== 'same');
    if (line?.new !== undefined) return [{ path, side: 'new', line: line.new }];
    return line?.old === undefined ? [] : [{ path, side: 'old', line: line.old }];
  });
}

/** The line whose number has the focus. */
function findFocusedPlace(): Place | undefined {
  const { dataset } = document.activeElement as HTMLElement;
  const path = document.activeElement?.closest<HTMLElement>('.diff-file')?.dataset.path;
  if (path === undefined || dataset.line === undefined) return undefined;
  return { path, side: dataset.side === 'old' ? 'old' : 'new', line: Number(dataset.line) };
}

/** The file at the top of the window. */
function findCurrentFile(): string | undefined {
  const middle = innerHeight / 3;
  let found: HTMLElement | undefined;
  for (const section of document.querySelectorAll<HTMLElement>('.diff-file')) {
    if (section.getBoundingClientRect().top > middle) break;
    found = section;
  }
  return found?.dataset.path;
}

/** The file at the top of the window, as a person scrolls. */
export function useCurrentFile(): string | undefined {
  const [current, setCurrent] = useState<string>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const update = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        setCurrent(findCurrentFile());
      }, 150);
    };
    addEventListener('scroll', update, { passive: true });
    update();
    return () => {
      removeEventListener('scroll', update);
      clearTimeout(timer);
    };
  }, []);
  return current;
}
