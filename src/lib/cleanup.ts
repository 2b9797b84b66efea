/** Runs all close functions in reverse order, even if some fail. Throws the first error. */
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

/** Runs `work` and closes the resource if it fails. Throws what `work` throws. */
export async function closeOnError<T>(opened: { close(): unknown }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await opened.close();
    throw error;
  }
}
