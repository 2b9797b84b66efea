import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Listens to an event of the window for as long as the component exists, from the moment its elements are visible: an
 * effect begins a frame later, so it would miss what a person presses immediately. The listener is the one of the latest
 * rendering.
 */
export function useWindowEvent<N extends keyof WindowEventMap>(
  name: N,
  listener: (event: WindowEventMap[N]) => void,
): void {
  const latest = useRef(listener);
  latest.current = listener;
  useLayoutEffect(() => {
    const call = (event: WindowEventMap[N]) => latest.current(event);
    addEventListener(name, call);
    return () => removeEventListener(name, call);
  }, [name]);
}
