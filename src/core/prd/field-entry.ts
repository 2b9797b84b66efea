/** The entry of a table for a field of a story: the case of its name, spaces, `-` and `_` do not count. */
export function fieldEntry<T>(table: Readonly<Record<string, T>>, field: string): T | undefined {
  const name = field.length < 40 ? field.toLowerCase().replace(/[\s_-]+/g, '') : '';
  // Fields are named by other people: only own members count.
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
