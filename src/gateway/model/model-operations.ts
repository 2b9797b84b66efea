import type * as z from 'zod';
import type { ModelApi } from '../../core/model-api.ts';
import { ChatBody } from './capabilities/chat.ts';
import { CountGeminiTokensBody, GenerateContentBody } from './capabilities/gemini.ts';
import { CountTokensBody, MessagesBody } from './capabilities/messages.ts';
import { ResponsesBody } from './capabilities/responses.ts';

/** One thing that a provider can be asked; everything else is refused. */
export interface ModelOperation {
  method: 'POST';
  /** As the sandbox asks for it, without query. */
  path: string;
  /** What is appended to the provider's base URL. */
  suffix: string;
  /** Queries that may follow the path, each exactly so; they go on to the provider. */
  queries: readonly string[];
  /** How its answers tell what they used. */
  answers: 'responses' | 'chat' | 'messages' | 'gemini';
  /** The model that is asked for, where the path names it and the body does not. */
  model?: string;
  /** It costs nothing and has no answer of a model in it. */
  free: boolean;
  /** What its body may hold. */
  body: z.ZodType<Record<string, unknown>>;
}

const OPERATIONS: Record<Exclude<ModelApi, 'google'>, readonly ModelOperation[]> = {
  openai: [
    describe('/responses', { answers: 'responses', body: ResponsesBody }),
    describe('/chat/completions', { answers: 'chat', body: ChatBody }),
  ],
  anthropic: [
    describe('/messages', { answers: 'messages', body: MessagesBody, queries: ['?beta=true'] }),
    describe('/messages/count_tokens', {
      answers: 'messages',
      body: CountTokensBody,
      queries: ['?beta=true'],
      free: true,
    }),
  ],
};

/** The operation behind a request line, or undefined: method and path must be exactly one of those known. */
export function findOperation(api: ModelApi, method: string, url: string): ModelOperation | undefined {
  if (api === 'google') return findGoogleOperation(method, url);
  return OPERATIONS[api].find(
    (operation) =>
      method === operation.method && ['', ...operation.queries].some((query) => url === `${operation.path}${query}`),
  );
}

/** What a gateway serves, as the end of a sentence. */
export function describeOperations(api: ModelApi): string {
  if (api === 'google') return `POST /v1beta/models/MODEL:${Object.keys(GOOGLE_BODIES).join(', :')}`;
  return OPERATIONS[api].map(({ method, path }) => `${method} ${path}`).join(' and ');
}

const GOOGLE_BODIES: Record<string, ModelOperation['body']> = {
  generateContent: GenerateContentBody,
  streamGenerateContent: GenerateContentBody,
  countTokens: CountGeminiTokensBody,
};

/** Google's paths name the model: `/v1beta/models/<model>:<method>`. */
function findGoogleOperation(method: string, url: string): ModelOperation | undefined {
  const [, path = '', suffix = '', model = '', name = ''] =
    /^(\/v1beta(\/models\/([\w.-]+):([A-Za-z]+)))(\?alt=sse)?$/.exec(url) ?? [];
  const body = Object.hasOwn(GOOGLE_BODIES, name) ? GOOGLE_BODIES[name] : undefined;
  if (method !== 'POST' || body === undefined) return undefined;
  return { method, path, suffix, model, queries: ['?alt=sse'], answers: 'gemini', free: name === 'countTokens', body };
}

function describe(
  suffix: string,
  rest: Pick<ModelOperation, 'answers' | 'body'> & { queries?: readonly string[]; free?: boolean },
): ModelOperation {
  return { method: 'POST', path: `/v1${suffix}`, suffix, queries: [], free: false, ...rest };
}
