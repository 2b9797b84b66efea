import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { secretForms } from '../lib/secrets/encodings.ts';
import type { ModelApi } from '../core/model-api.ts';

/** Headers of the client that a model provider may see, in exactly these spellings; above all, no credentials. */
const TO_PROVIDER: Record<ModelApi, readonly string[]> = {
  openai: ['accept', 'user-agent', 'originator', 'session-id', 'session_id', 'thread-id', 'conversation_id'],
  anthropic: ['accept', 'user-agent', 'x-app', 'x-claude-code-session-id'],
  google: ['accept', 'user-agent', 'x-goog-api-client'],
};

/**
 * Beta features of the Messages API that give a client nothing but other forms of thinking, caching and editing of
 * what it sent. What makes the provider act on its own (MCP, code execution, files, web, skills) is not here.
 */
const BETAS = new RegExp(
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

const SECRETS_OF_CLIENT = ['authorization', 'cookie', 'cookie2', 'host'];
const NOT_FOR_SANDBOX = ['set-cookie', 'set-cookie2', 'www-authenticate', 'alt-svc', 'strict-transport-security'];

/** Headers of a provider's answer that an agent needs to go on, or people to find a request again. */
const FROM_PROVIDER = /^(content-type|retry-after|retry-after-ms|request-id|x-request-id|x-should-retry)$|ratelimit/;

/** Headers of a request to the model provider, without length: made anew, with the key in the provider's own way. */
export function providerHeaders(
  api: ModelApi,
  headers: IncomingHttpHeaders,
  key: string | undefined,
): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => TO_PROVIDER[api].includes(name));
  return {
    ...Object.fromEntries(kept),
    'content-type': 'application/json',
    // A compressed answer could be neither metered nor searched for the key.
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
  const betas = asked.map((beta) => beta.trim()).filter((beta) => BETAS.test(beta));
  return {
    'anthropic-version': typeof version === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(version) ? version : '2023-06-01',
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
  };
}

/** Whether a request brings a body. */
export function hasBody({ headers }: { headers: IncomingHttpHeaders }): boolean {
  return headers['transfer-encoding'] !== undefined || !['0', undefined].includes(headers['content-length']);
}

/** Headers of a plain proxied request as they go on to the server. */
export function forwardedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, SECRETS_OF_CLIENT);
}

/** Headers of a plain server's answer as they go to the sandbox. */
export function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, NOT_FOR_SANDBOX);
}

/** Headers of a provider's answer as they go to the sandbox; one that holds the key is dropped. */
export function modelAnswerHeaders(headers: IncomingHttpHeaders, key: string | undefined): OutgoingHttpHeaders {
  const forms = key === undefined ? [] : secretForms(key);
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
