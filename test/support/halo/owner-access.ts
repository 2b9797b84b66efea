import { isSameSecret } from '../../../src/api/access/access-token.ts';
import type { RequestAccess } from '../../../src/api/http/http-server.ts';
import type { CallOperation } from '../../../src/api/operations/operation.ts';

/** A server without users: only its own token is accepted. */
export function ownerAccess(call: CallOperation, token: string): RequestAccess {
  return {
    identify: async (given) =>
      Promise.resolve(given.from === 'header' && isSameSecret(given.token, token) ? { kind: 'owner' } : undefined),
    recordRefused: () => Promise.resolve(),
    callFor: () => call,
  };
}
