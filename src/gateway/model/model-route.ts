import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { ModelApi } from '../../core/agent.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { BudgetPort } from '../usage/budget-port.ts';
import { ChatBody } from './capabilities/chat.ts';
import { CountGeminiTokensBody, GenerateContentBody } from './capabilities/gemini.ts';
import { CountTokensBody, MessagesBody } from './capabilities/messages.ts';
import { ResponsesBody } from './capabilities/responses.ts';

/** The source of the model's responses. */
export interface ModelRoute {
  /** `record`: live, and written to the cassette; `replay`: from the cassette alone. */
  mode: 'live' | 'record' | 'replay';
  /** The kind of provider. */
  api: ModelApi;
  /** Base URL of the provider, to which e.g. `/responses` is appended. */
  baseUrl: string;
  /** The provider's secret keys, sent only to the provider; none is sent when there is none. The budget chooses one. */
  providerKeys: readonly string[];
  /** The gateway token that a request must present as its API key. It is valid for one attempt and only at this gateway. */
  gatewayToken: string;
  /** Names of the allowed models. */
  models: readonly string[];
  /** Path of the cassette: written in `record`, read in `replay`. */
  cassette: string;
  /** Whether the cassette stores the timing of streamed responses, and a replay repeats it. */
  timed?: boolean;
  /** Masks secrets in the cassette; when absent, only the key is masked. */
  masker?: Masker;
  /** The budget and rate limits of requests; unlimited when absent. A replay costs nothing. */
  budget?: BudgetPort;
}

/** A complete model request, parsed and reduced to its accepted fields. */
export interface ModelRequest {
  operation: ModelOperation;
  /** The requested path with its query. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The name of the requested model. */
  model: string;
}

/** A message of a person to the agent while it works. */
export interface SentMessage {
  id: string;
  by: string;
  text: string;
}

/** Resolves when the program of the agent has the message. */
export type DeliverMessage = (message: SentMessage) => Promise<void>;

/** Serves model requests. Call `close` once, after the last response. */
export interface ModelHandler {
  /** Has the cassette keep a message that the agent got while it works. `sent`: the text that its requests will contain. */
  recordMessage?(message: SentMessage, sent: string): void;
  /** Calls `deliver` with the messages of the cassette, each before the response that it came after. */
  replayMessages?(deliver: DeliverMessage): void;
  respond(request: ModelRequest, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** One operation of a provider's API. Requests for other operations are refused. */
export interface ModelOperation {
  method: 'POST';
  /** The path in the sandbox's request, without query. */
  path: string;
  /** The path appended to the provider's base URL. */
  suffix: string;
  /** Exact query strings that are accepted and forwarded to the provider. */
  queries: readonly string[];
  /** The format in which responses report their usage. */
  responseFormat: 'responses' | 'chat' | 'messages' | 'gemini';
  /** The requested model, when the path contains it instead of the body. */
  model?: string;
  /** Whether it is free of charge and its response contains no model output. */
  free: boolean;
  /** The accepted body. */
  body: z.ZodType<Record<string, unknown>>;
}

const OPERATIONS: Record<Exclude<ModelApi, 'google'>, readonly ModelOperation[]> = {
  openai: [
    createOperation('/responses', { responseFormat: 'responses', body: ResponsesBody }),
    createOperation('/chat/completions', { responseFormat: 'chat', body: ChatBody }),
  ],
  anthropic: [
    createOperation('/messages', { responseFormat: 'messages', body: MessagesBody, queries: ['?beta=true'] }),
    createOperation('/messages/count_tokens', {
      responseFormat: 'messages',
      body: CountTokensBody,
      queries: ['?beta=true'],
      free: true,
    }),
  ],
};

/** Finds the operation of a request. Method, path and query must match exactly. */
export function findOperation(api: ModelApi, method: string, url: string): ModelOperation | undefined {
  if (api === 'google') return findGoogleOperation(method, url);
  return OPERATIONS[api].find(
    (operation) =>
      method === operation.method && ['', ...operation.queries].some((query) => url === `${operation.path}${query}`),
  );
}

/** Lists the operations as the end of a sentence. */
export function describeOperations(api: ModelApi): string {
  if (api === 'google') return `POST /v1beta/models/MODEL:${Object.keys(GOOGLE_BODIES).join(', :')}`;
  return OPERATIONS[api].map(({ method, path }) => `${method} ${path}`).join(' and ');
}

const GOOGLE_BODIES: Record<string, ModelOperation['body']> = {
  generateContent: GenerateContentBody,
  streamGenerateContent: GenerateContentBody,
  countTokens: CountGeminiTokensBody,
};

/** Google's paths contain the model: `/v1beta/models/<model>:<method>`. */
function findGoogleOperation(method: string, url: string): ModelOperation | undefined {
  const [, path = '', suffix = '', model = '', name = ''] =
    /^(\/v1beta(\/models\/([\w.-]+):([A-Za-z]+)))(\?alt=sse)?$/.exec(url) ?? [];
  const body = Object.hasOwn(GOOGLE_BODIES, name) ? GOOGLE_BODIES[name] : undefined;
  if (method !== 'POST' || body === undefined) return undefined;
  return {
    method,
    path,
    suffix,
    model,
    queries: ['?alt=sse'],
    responseFormat: 'gemini',
    free: name === 'countTokens',
    body,
  };
}

function createOperation(
  suffix: string,
  rest: Pick<ModelOperation, 'responseFormat' | 'body'> & { queries?: readonly string[]; free?: boolean },
): ModelOperation {
  return { method: 'POST', path: `/v1${suffix}`, suffix, queries: [], free: false, ...rest };
}
