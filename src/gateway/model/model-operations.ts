import type * as z from 'zod';
import type { ModelApi } from '../../core/agent.ts';
import { ChatBody } from './capabilities/chat.ts';
import { CountGeminiTokensBody, GenerateContentBody } from './capabilities/gemini.ts';
import { CountTokensBody, MessagesBody } from './capabilities/messages.ts';
import { ResponsesBody } from './capabilities/responses.ts';

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
