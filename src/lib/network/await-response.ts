import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Waits for the response to a request that was sent. Its body has not been read. A protocol switch (status 101) or an
 * invalid status is an error. Throws network errors.
 */
export function awaitResponse(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const refuseResponse = (why: string) => {
      outgoing.destroy();
      reject(Object.assign(new Error(why), { code: 'EPROTO' }));
    };
    outgoing.once('response', (response: IncomingMessage) => {
      const { statusCode = 0 } = response;
      if (statusCode >= 200 && statusCode <= 599) resolve(response);
      else refuseResponse(`status ${statusCode}`);
    });
    // Not removed: an abort during the response also emits an error on the request.
    outgoing.on('error', reject);
    // Node can close a request without an error.
    outgoing.once('close', () => refuseResponse('no response'));
  });
}
