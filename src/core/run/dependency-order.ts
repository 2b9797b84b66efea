/**
 * Moves dependencies to the front, otherwise keeps the order. Terminates for dependency cycles. `dependenciesOf` returns
 * other items of the list.
 */
export function dependenciesFirst<T>(items: readonly T[], dependenciesOf: (item: T) => readonly T[]): T[] {
  const ordered = new Set<T>();
  const visited = new Set<T>();
  // An explicit stack: recursion would overflow for chains of thousands of items.
  const stack = [...items].reverse();
  for (let item = stack.at(-1); item !== undefined; item = stack.at(-1)) {
    const needed = visited.has(item) ? [] : dependenciesOf(item).filter((each) => !visited.has(each));
    visited.add(item);
    if (needed.length > 0) {
      stack.push(...needed.reverse());
    } else {
      ordered.add(item);
      stack.pop();
    }
  }
  return [...ordered];
}

/** A dependency cycle: each item depends on the next one, the last one on the first; undefined if there is none. */
export function findCycle<T>(items: readonly T[], dependenciesOf: (item: T) => readonly T[]): T[] | undefined {
  const free = new Set<T>();
  for (const item of dependenciesFirst(items, dependenciesOf))
    if (dependenciesOf(item).every((each) => free.has(each))) free.add(item);
  const path = new Set<T>();
  let item = items.find((each) => !free.has(each));
  while (item !== undefined && !path.has(item)) {
    path.add(item);
    item = dependenciesOf(item).find((each) => !free.has(each));
  }
  return item === undefined ? undefined : [...path].slice([...path].indexOf(item));
}
