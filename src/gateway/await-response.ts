import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * The answer to a request that was sent; its body is not read yet. A server that changes the protocol (status 101), or
 * whose status no answer may have, gave none. Throws what the network throws.
 */
export function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const refuse = (why: string) => {
      outgoing.destroy();
      reject(Object.assign(new Error(why), { code: 'EPROTO' }));
    };
    outgoing.once('response', (answer: IncomingMessage) => {
      const { statusCode = 0 } = answer;
      if (statusCode >= 200 && statusCode <= 599) resolve(answer);
      else refuse(`status ${statusCode}`);
    });
    // Stays: an abort after the answer began is an error of the request, too.
    outgoing.on('error', reject);
    // Without an error, where Node itself gives up.
    outgoing.once('close', () => refuse('no answer'));
  });
}
