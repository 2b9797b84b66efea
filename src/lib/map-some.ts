/**
 * Does the work for all items, at most `most` at once, and answers in their order. When one fails nothing more is begun,
 * and that error is thrown.
 */
export async function mapSome<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = [...items.entries()].values();
  let failed = false;
  const takeAll = async () => {
    for (const [index, item] of rest) {
      if (failed) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: most }, takeAll));
  return results;
}
