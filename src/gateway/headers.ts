import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { secretEncodings } from '../lib/secrets/encodings.ts';
import type { ModelApi } from '../core/agent.ts';

/** Request headers that are forwarded to a model provider. They must not include credentials. */
const TO_PROVIDER: Record<ModelApi, readonly string[]> = {
  openai: ['accept', 'user-agent', 'originator', 'session-id', 'session_id', 'thread-id', 'conversation_id'],
  anthropic: ['accept', 'user-agent', 'x-app', 'x-claude-code-session-id'],
  google: ['accept', 'user-agent', 'x-goog-api-client'],
};

/**
 * Allowed beta features of the Messages API: those that only change thinking, caching and context editing. Features that
 * let the provider act by itself (MCP, code execution, files, web, skills) are not included.
 */
const ALLOWED_BETAS = new RegExp(
  `^(${[
    'claude-code',
    'interleaved-thinking',
    'thinking-token-count',
    'thinking-display-updates',
    'context-management',
    'context-1m',
    'compact',
    'fine-grained-tool-streaming',
    'token-efficient-tools',
    'advanced-tool-use',
    'structured-outputs',
    'prompt-caching',
    'prompt-caching-scope',
    'extended-cache-ttl',
    'output-128k',
    'effort',
  ].join('|')})-\\d{4}-?\\d{2}-?\\d{2}$`,
);

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

const CLIENT_CREDENTIALS = ['authorization', 'cookie', 'cookie2', 'host'];
const HIDDEN_FROM_SANDBOX = ['set-cookie', 'set-cookie2', 'www-authenticate', 'alt-svc', 'strict-transport-security'];

/** Response headers of a provider that an agent needs to continue, or a user to identify a request. */
const FROM_PROVIDER = /^(content-type|retry-after|retry-after-ms|request-id|x-request-id|x-should-retry)$|ratelimit/;

/** Builds the headers of a request to the model provider, without the length, with the key in the provider's header. */
export function providerHeaders(
  api: ModelApi,
  headers: IncomingHttpHeaders,
  key: string | undefined,
): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => TO_PROVIDER[api].includes(name));
  return {
    ...Object.fromEntries(kept),
    'content-type': 'application/json',
    // A compressed response can be neither metered nor searched for the key.
    'accept-encoding': 'identity',
    ...(api === 'anthropic' ? anthropicHeaders(headers) : {}),
    ...(key === undefined ? {} : credential(api, key)),
  };
}

function credential(api: ModelApi, key: string): OutgoingHttpHeaders {
  switch (api) {
    case 'openai':
      return { authorization: `Bearer ${key}` };
    case 'anthropic':
      return { 'x-api-key': key };
    case 'google':
      return { 'x-goog-api-key': key };
  }
}

function anthropicHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const version = headers['anthropic-version'];
  const asked = String(headers['anthropic-beta'] ?? '').split(',');
  const betas = asked.map((beta) => beta.trim()).filter((beta) => ALLOWED_BETAS.test(beta));
  return {
    'anthropic-version': typeof version === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(version) ? version : '2023-06-01',
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
  };
}

/** Whether a request has a body. */
export function hasBody({ headers }: { headers: IncomingHttpHeaders }): boolean {
  return headers['transfer-encoding'] !== undefined || !['0', undefined].includes(headers['content-length']);
}

/** The headers of a plain proxy request that are forwarded to the server. */
export function forwardedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, CLIENT_CREDENTIALS);
}

/** The response headers of a plain HTTP server that are forwarded to the sandbox. */
export function responseHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, HIDDEN_FROM_SANDBOX);
}

/** The response headers of a provider that are forwarded to the sandbox. A header that contains a key is dropped. */
export function modelResponseHeaders(headers: IncomingHttpHeaders, keys: readonly string[]): OutgoingHttpHeaders {
  const forms = keys.flatMap(secretEncodings);
  const kept = Object.entries(headers).filter(([name, value]) => {
    const text = JSON.stringify(value ?? '');
    return FROM_PROVIDER.test(name) && !forms.some((form) => text.includes(form));
  });
  return Object.fromEntries(kept);
}

function without(headers: IncomingHttpHeaders, names: string[]): OutgoingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...names, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
