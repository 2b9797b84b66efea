import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useKept } from '../page/browser-storage.ts';
import { useNarrow } from '../page/use-narrow.ts';

/** Windows that are not wider have no room for two columns. */
const TWO_COLUMNS = 860;

/** How diffs are drawn: `isSplit` side by side, as the person chose with `choice`, which narrow windows do not have. */
export function useDiffView(): { isSplit: boolean; isNarrow: boolean; choice: JSX.Element | undefined } {
  const [view, setView] = useKept('halo diff view', 'unified');
  const isNarrow = useNarrow(TWO_COLUMNS);
  const choice = isNarrow ? undefined : (
    <span class="views" role="group" aria-label="View of the diff">
      {(['unified', 'split'] as const).map((name) => (
        <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name)}>
          {name === 'unified' ? 'Unified' : 'Split'}
        </button>
      ))}
    </span>
  );
  return { isSplit: view === 'split' && !isNarrow, isNarrow, choice };
}

/** Sets the heights of what stays at the top of the window, for what stays below it. */
export function useStickyTop(root: { current: HTMLElement | null }): void {
  useEffect(() => {
    const outer = root.current?.closest('.review') ?? root.current;
    const [header, bar] = [document.querySelector<HTMLElement>('header'), outer?.querySelector('.review-bar')];
    const observer = new ResizeObserver(() => {
      root.current?.style.setProperty('--header', `${header?.offsetHeight ?? 0}px`);
      root.current?.style.setProperty('--bar', `${(bar as HTMLElement | null | undefined)?.offsetHeight ?? 0}px`);
    });
    for (const element of [header, bar]) if (element) observer.observe(element);
    return () => observer.disconnect();
  }, []);
}
