import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface ModalProps {
  onClose: () => void;
  class?: string | undefined;
  /** Its name for screen readers, or the id of the element that has it. */
  label?: string | undefined;
  labelledBy?: string | undefined;
  /** With what closes the window. */
  children: (close: () => void) => ComponentChildren;
}

/**
 * A window over the page, open for as long as it exists. It is gone when the key or button that closes it has been handled:
 * the browser's own event comes later, and would also close a window that was opened in between.
 */
export function Modal({ onClose, class: className, label, labelledBy, children }: ModalProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const closed = useRef(false);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = () => {
    if (closed.current) return;
    closed.current = true;
    // The page behind it is usable, and has the focus, before a button of it is pressed.
    dialog.current?.close();
    onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-label={label}
      aria-labelledby={labelledBy}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClose={close}
    >
      {children(close)}
    </dialog>
  );
}
