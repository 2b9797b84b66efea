import { isOlder } from '../lib/version-order.ts';
import type { EngineFacts } from './sandbox.ts';

/** That of Docker Engine 20.10, with which everything that seals a sandbox is built and tested. */
const OLDEST_API = '1.41';

/** How to mend an engine that is too old; undefined for any other. What speaks the API well enough may have versions of its own. */
export function tooOld({ apiVersion }: Pick<EngineFacts, 'apiVersion'>): string | undefined {
  if (!isOlder(apiVersion, OLDEST_API)) return undefined;
  return `halo needs Docker Engine 20.10 or newer, or another engine that speaks API ${OLDEST_API}`;
}
