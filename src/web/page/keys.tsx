import { Fragment, type JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { SEQUENCE_START, typedKeys } from '../../view/action-keys.ts';
import { KEY_GROUPS, SCREENS } from './screens.ts';
import { Modal } from './modal.tsx';
import { useWindowEvent } from './use-window-event.ts';

/** Lists the keys of all screens. */
export function KeysDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const title = useRef<HTMLHeadingElement>(null);
  // A browser focuses the button, and scrolls to it.
  useEffect(() => title.current?.focus(), []);
  return (
    <Modal class="all-keys" labelledBy="keys-title" onClose={onClose}>
      {(close) => (
        <>
          <h2 id="keys-title" tabIndex={-1} ref={title}>
            Keys
          </h2>
          <div class="keys">
            {KEY_GROUPS.map(({ name, keys }) => (
              <section key={name} aria-label={name}>
                <h3>{name}</h3>
                <dl>
                  {keys.map(([key, action]) => (
                    <Fragment key={key}>
                      <dt>
                        <kbd>{key}</kbd>
                      </dt>
                      <dd>{action}</dd>
                    </Fragment>
                  ))}
                </dl>
              </section>
            ))}
          </div>
          <div class="actions">
            <button type="button" onClick={close}>
              Close
            </button>
          </div>
        </>
      )}
    </Modal>
  );
}

interface KeyActions {
  openPalette: () => void;
  openKeys: () => void;
}

/** The entry after or before the one that has the focus; the first or last one if none has. */
function nextOf(entries: readonly HTMLElement[], focused: HTMLElement | null, step: number): HTMLElement | undefined {
  const at = focused === null ? -1 : entries.indexOf(focused);
  return at === -1 ? entries.at(step > 0 ? 0 : -1) : entries[at + step];
}

/**
 * `g` and a letter open a screen, Ctrl+K the palette, `?` the list of keys, `/` the search; other keys press the button that
 * has them as `data-key`.
 */
export function useKeys({ openPalette, openKeys }: KeyActions): void {
  const first = useRef<string>();
  useWindowEvent('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
      event.preventDefault();
      openPalette();
      return;
    }
    const from = event.target as HTMLElement;
    if (event.key === 'Shift') return;
    if (event.ctrlKey || event.metaKey || event.altKey || from.closest('input, textarea, select, dialog') !== null) {
      first.current = undefined;
      return;
    }
    const keys = typedKeys(first.current, event.key);
    first.current = keys === undefined ? SEQUENCE_START : undefined;
    if (keys === undefined) return;
    const entries = [...document.querySelectorAll<HTMLElement>('.entry')];
    const focused = from.closest<HTMLElement>('.entry');
    // In a list, a key without a chosen entry does nothing: entries move when something changes.
    const place = entries.length === 0 ? document : focused;
    const step = { j: 1, k: -1 }[keys];
    const button = [...(place?.querySelectorAll<HTMLButtonElement>('button[data-key]') ?? [])].find(
      ({ dataset }) => dataset.key === keys,
    );
    const screen = SCREENS.find(({ key }) => key === keys);
    if (keys === '?') openKeys();
    else if (keys === '/') document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
    else if (step !== undefined && entries.length > 0) nextOf(entries, focused, step)?.focus();
    else if (button !== undefined) {
      // A key that is held down decides once: the next entry has the focus then.
      if (!event.repeat) button.click();
    } else if (screen !== undefined) location.hash = `#/${screen.path}`;
    else return;
    event.preventDefault();
  });
}
