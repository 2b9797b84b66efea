import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { HaloError } from '../../core/failure/errors.ts';
import { answerOf } from '../await-response.ts';
import { providerHeaders } from '../headers.ts';
import type { ModelRequest, ModelRoute } from './model-route.ts';
import { codeOf } from '../network-error.ts';

/** Models may think for minutes before their first byte, and between two. */
const IDLE_MS = 15 * 60_000;

/** The model provider, with connections of its own that are kept open. */
export interface Provider {
  /** Host and port, for messages. */
  name: string;
  /** Asks the model; the answer's body is not read yet. Throws what the network throws. */
  ask(request: ModelRequest, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

/** Throws CONFIG_INVALID for a base URL that is not plain http or https. */
export function openProvider(route: Pick<ModelRoute, 'api' | 'baseUrl' | 'key'>): Provider {
  const base = readBaseUrl(route.baseUrl);
  const secure = base.protocol === 'https:';
  const agent = secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const open = secure ? httpsRequest : httpRequest;

  const send = (request: ModelRequest, signal: AbortSignal) => {
    // What was parsed is what is sent: two readers of one text could disagree about it.
    const body = Buffer.from(JSON.stringify(request.body));
    const headers = { ...providerHeaders(route.api, request.headers, route.key), 'content-length': body.length };
    const outgoing = open(addressOf(base, request), { method: 'POST', headers, agent, signal, timeout: IDLE_MS });
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    outgoing.end(body);
    return outgoing;
  };

  return {
    name: base.host,
    async ask(request, signal) {
      const first = send(request, signal);
      try {
        return await answerOf(first);
      } catch (error) {
        // The provider may close a kept connection in the moment in which it is used again.
        if (!first.reusedSocket || codeOf(error) !== 'ECONNRESET') throw error;
        return answerOf(send(request, signal));
      }
    },
    close: () => agent.destroy(),
  };
}

/** The query is one of the few that the operation knows. */
function addressOf(base: URL, { operation, url }: ModelRequest): URL {
  const address = new URL(base);
  address.pathname = `${base.pathname.replace(/(?<!\/)\/+$/, '')}${operation.suffix}`;
  address.search = url.slice(operation.path.length);
  return address;
}

function readBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return url;
  }
  throw new HaloError('CONFIG_INVALID', `The base URL of the model, "${text}", is not an http or https address.`, {
    hint: 'Set model.base_url to an address like https://api.openai.com/v1, without user name or password.',
  });
}
