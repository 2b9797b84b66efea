import { toHaloError, type ErrorCode } from '../../src/core/failure/errors.ts';

/** What users see of the error that `work` throws. Throws if it throws none. */
export async function errorOf(
  work: () => Promise<unknown>,
): Promise<{ code: ErrorCode; message: string; hint: string | undefined }> {
  try {
    await work();
  } catch (thrown) {
    const { code, message, hint } = toHaloError(thrown);
    return { code, message, hint };
  }
  throw new Error('nothing was thrown');
}
