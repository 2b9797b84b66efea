import { useEffect, useState, type MutableRef } from 'preact/hooks';

/** How far outside of the window elements are drawn. */
const MARGIN = '1200px 0px';

const changed = new WeakMap<Element, (isNear: boolean) => void>();
let observer: IntersectionObserver | undefined;

/** Whether an element is in or near the visible part of the page. */
export function useNear(element: MutableRef<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observed = element.current;
    if (observed === null) return;
    observer ??= new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) changed.get(target)?.(isIntersecting);
      },
      { rootMargin: MARGIN },
    );
    changed.set(observed, setNear);
    observer.observe(observed);
    return () => observer?.unobserve(observed);
  }, []);
  return isNear;
}
