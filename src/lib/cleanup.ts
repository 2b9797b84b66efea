/** Closes what is open, in the reverse order; a failure does not keep the rest from being closed. Throws the first one. */
export async function closeAll(opened: (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of opened.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
