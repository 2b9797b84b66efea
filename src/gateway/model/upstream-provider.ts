import type { IncomingMessage } from 'node:http';
import { HaloError } from '../../core/failure/errors.ts';
import { awaitResponse } from '../../lib/network/send-request.ts';
import type { Connections } from '../../lib/network/connections.ts';
import { mayReceiveCredential } from '../../lib/network/credential-target.ts';
import { endpointOfUrl, type Endpoint } from '../egress/host-port.ts';
import { providerHeaders } from '../headers.ts';
import type { ModelRequest, ModelRoute } from './model-route.ts';
import { errorCode } from '../error-responses.ts';

/** A model may think for minutes before and between bytes. */
const IDLE_MS = 15 * 60_000;

/** A client of the model provider with keep-alive connections. */
export interface ProviderClient {
  /** Host and port, for messages. */
  name: string;
  /** Sends a request, with a key if there is one. The body of the response has not been read. Throws network errors. */
  ask(request: ModelRequest, key: string | undefined, signal: AbortSignal): Promise<IncomingMessage>;
}

/** Throws CONFIG_INVALID for a base URL that is not plain http or https; `ask`, if others could read the key. */
export function createProviderClient(
  route: Pick<ModelRoute, 'api' | 'baseUrl'>,
  connections: Connections,
): ProviderClient {
  const base = readBaseUrl(route.baseUrl);

  const send = (request: ModelRequest, key: string | undefined, signal: AbortSignal) => {
    // Sends the parsed body, because two parsers could interpret the original text differently.
    const body = Buffer.from(JSON.stringify(request.body));
    const headers = {
      ...providerHeaders(route.api, request.headers, key),
      'content-length': body.length,
    };
    const outgoing = connections.request({
      ...base.target,
      protocol: base.protocol,
      path: pathOf(base.pathname, request),
      method: 'POST',
      headers,
      signal,
      timeout: IDLE_MS,
    });
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no response'), { code: 'ETIMEDOUT' })));
    outgoing.end(body);
    return outgoing;
  };

  return {
    name: base.name,
    async ask(request, key, signal) {
      if (key !== undefined && !mayReceiveCredential(route.baseUrl, route.baseUrl)) throw unencrypted(base.name);
      const first = send(request, key, signal);
      try {
        return await awaitResponse(first);
      } catch (error) {
        // The provider may close a keep-alive connection just as it is reused.
        if (!first.reusedSocket || errorCode(error) !== 'ECONNRESET') throw error;
        return awaitResponse(send(request, key, signal));
      }
    },
  };
}

/** The query is one of those that the operation accepts. */
function pathOf(pathname: string, { operation, url }: ModelRequest): string {
  return `${pathname.replace(/(?<!\/)\/+$/, '')}${operation.suffix}${url.slice(operation.path.length)}`;
}

function unencrypted(name: string): HaloError {
  return new HaloError('CONFIG_INVALID', `The model provider ${name} would get its key without encryption.`, {
    hint: 'Set model.base_url to an https address, or to one of this machine.',
  });
}

interface ProviderAddress {
  /** Host and port, for messages. */
  name: string;
  protocol: 'http:' | 'https:';
  target: Endpoint;
  pathname: string;
}

function readBaseUrl(text: string): ProviderAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const target = url === undefined ? undefined : endpointOfUrl(url);
  const protocol = url?.protocol;
  if (
    url !== undefined &&
    target !== undefined &&
    (protocol === 'http:' || protocol === 'https:') &&
    url.username === '' &&
    url.password === ''
  ) {
    return { name: url.host, protocol, target, pathname: url.pathname };
  }
  throw new HaloError('CONFIG_INVALID', `The base URL of the model, "${text}", is not an http or https address.`, {
    hint: 'Set model.base_url to an address like https://api.openai.com/v1, without user name or password.',
  });
}
