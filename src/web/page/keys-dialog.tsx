import { Fragment, type JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { KEY_GROUPS } from './screens.ts';

/** Lists the keys of all screens. */
export function KeysDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // A browser focuses the button, and scrolls to it.
    title.current?.focus();
  }, []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="keys-title">
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
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
