import { useLayoutEffect, useState } from 'preact/hooks';

/** Whether the window is at most `maxWidth` CSS pixels wide. */
export function useNarrow(maxWidth: number): boolean {
  const query = `(max-width: ${maxWidth}px)`;
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useLayoutEffect(() => {
    const media = matchMedia(query);
    const update = () => setNarrow(media.matches);
    media.addEventListener('change', update);
    return () => media.removeEventListener('change', update);
  }, [query]);
  return isNarrow;
}
