import { sleep } from '../../lib/async.ts';
import type { SubmitContext } from '../submit/submit-context.ts';

/**
 * Reads a PRD of a request: one at a time, users by turns, and as long as it took, the thread of the server answers other
 * requests. Throws TOO_MANY_REQUESTS, and what `read` throws.
 */
export async function readInTurn<T>(
  { remote, caller, prdTurns }: Pick<SubmitContext, 'remote' | 'caller' | 'prdTurns'>,
  read: () => T,
): Promise<T> {
  if (remote !== true || prdTurns === undefined) return read();
  return prdTurns.run(caller?.name ?? '', async () => {
    const begun = performance.now();
    try {
      return read();
    } finally {
      await sleep(performance.now() - begun);
    }
  });
}
