/** Works with what was opened, and closes it again if that fails. Throws what the work throws. */
export async function orClose<T>(opened: { close(): unknown }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await opened.close();
    throw error;
  }
}
