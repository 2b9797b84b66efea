import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** Headers of the client that a model provider may see; above all, no credentials. */
const TO_PROVIDER = ['accept', 'user-agent', 'originator', 'session-id', 'session_id', 'thread-id', 'conversation_id'];

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

const SECRETS_OF_CLIENT = ['authorization', 'cookie', 'cookie2', 'host'];
const NOT_FOR_SANDBOX = ['set-cookie', 'set-cookie2', 'www-authenticate', 'alt-svc', 'strict-transport-security'];

/** Headers of a request to the model provider, without length and key. */
export function providerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => TO_PROVIDER.includes(name));
  // A compressed answer could be neither metered nor searched for the key.
  return { ...Object.fromEntries(kept), 'content-type': 'application/json', 'accept-encoding': 'identity' };
}

/** Headers of a plain proxied request as they go on to the server. */
export function forwardedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, SECRETS_OF_CLIENT);
}

/** Headers of a server's answer as they go to the sandbox; one that holds the secret is dropped. */
export function answerHeaders(headers: IncomingHttpHeaders, secret: string | undefined): OutgoingHttpHeaders {
  const kept = Object.entries(without(headers, NOT_FOR_SANDBOX));
  return Object.fromEntries(
    kept.filter(([, value]) => secret === undefined || !JSON.stringify(value ?? '').includes(secret)),
  );
}

function without(headers: IncomingHttpHeaders, names: string[]): OutgoingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...names, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
