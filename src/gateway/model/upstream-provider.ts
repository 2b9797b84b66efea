import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { HaloError } from '../../core/failure/errors.ts';
import { awaitResponse } from '../await-response.ts';
import { providerHeaders } from '../headers.ts';
import type { ModelRequest, ModelRoute } from './model-route.ts';
import { errorCode } from '../network-error.ts';

/** A model may think for minutes before and between bytes. */
const IDLE_MS = 15 * 60_000;

/** A client of the model provider with keep-alive connections. */
export interface ProviderClient {
  /** Host and port, for messages. */
  name: string;
  /** Sends a request. The body of the response has not been read. Throws network errors. */
  ask(request: ModelRequest, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

/** Throws CONFIG_INVALID for a base URL that is not plain http or https. */
export function createProviderClient(route: Pick<ModelRoute, 'api' | 'baseUrl' | 'providerKey'>): ProviderClient {
  const base = readBaseUrl(route.baseUrl);
  const secure = base.protocol === 'https:';
  const agent = secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const open = secure ? httpsRequest : httpRequest;

  const send = (request: ModelRequest, signal: AbortSignal) => {
    // Sends the parsed body, because two parsers could interpret the original text differently.
    const body = Buffer.from(JSON.stringify(request.body));
    const headers = {
      ...providerHeaders(route.api, request.headers, route.providerKey),
      'content-length': body.length,
    };
    const outgoing = open(addressOf(base, request), { method: 'POST', headers, agent, signal, timeout: IDLE_MS });
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no response'), { code: 'ETIMEDOUT' })));
    outgoing.end(body);
    return outgoing;
  };

  return {
    name: base.host,
    async ask(request, signal) {
      const first = send(request, signal);
      try {
        return await awaitResponse(first);
      } catch (error) {
        // The provider may close a keep-alive connection just as it is reused.
        if (!first.reusedSocket || errorCode(error) !== 'ECONNRESET') throw error;
        return awaitResponse(send(request, signal));
      }
    },
    close: () => agent.destroy(),
  };
}

/** The query is one of those that the operation accepts. */
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
