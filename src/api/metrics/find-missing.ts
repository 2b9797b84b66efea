import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { LocalOperations } from '../local.ts';

/** What a server needs and cannot reach or use, for `/readyz`. */
export async function findMissing(home: string, operations: Pick<LocalOperations, 'pingQueue'>): Promise<string[]> {
  const checks = {
    home: () => access(home, constants.R_OK | constants.W_OK),
    redis: () => operations.pingQueue(),
  };
  const found = await Promise.all(
    Object.entries(checks).map(([name, check]) =>
      check().then(
        () => [],
        () => [name],
      ),
    ),
  );
  return found.flat();
}
