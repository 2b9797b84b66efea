const MAX_RANGES = 20;

/** Formats story ids, with consecutive ones as a range: `S-008 to S-050, S-052`. */
export function formatStoryRanges(some: readonly { id: string }[], all: readonly { id: string }[]): string {
  const wanted = new Set(some.map(({ id }) => id));
  const ranges: string[][] = [];
  let current: string[] | undefined;
  for (const { id } of all) {
    if (!wanted.has(id)) current = undefined;
    else if (current !== undefined) current.push(id);
    else ranges.push((current = [id]));
  }
  const shown = ranges
    .slice(0, MAX_RANGES)
    .map((ids) => (ids.length > 2 ? `${ids[0]} to ${ids.at(-1)}` : ids.join(', ')));
  const left = ranges.slice(MAX_RANGES).flat().length;
  return [...shown, ...(left > 0 ? [`${left} more`] : [])].join(', ');
}
