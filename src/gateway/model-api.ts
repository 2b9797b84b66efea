import type * as z from 'zod';
import type { ModelApi } from '../core/model-api.ts';
import { ChatBody } from './capabilities/chat.ts';
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
  answers: 'responses' | 'chat' | 'messages';
  /** What its body may hold. */
  body: z.ZodType<Record<string, unknown>>;
}

const OPERATIONS: Record<ModelApi, readonly ModelOperation[]> = {
  openai: [
    describe('/responses', { answers: 'responses', body: ResponsesBody }),
    describe('/chat/completions', { answers: 'chat', body: ChatBody }),
  ],
  anthropic: [
    describe('/messages', { answers: 'messages', body: MessagesBody, queries: ['?beta=true'] }),
    describe('/messages/count_tokens', { answers: 'messages', body: CountTokensBody, queries: ['?beta=true'] }),
  ],
};

/** The operation behind a request line, or undefined: method and path must be exactly one of those above. */
export function findOperation(api: ModelApi, method: string, url: string): ModelOperation | undefined {
  return OPERATIONS[api].find(
    (operation) =>
      method === operation.method && ['', ...operation.queries].some((query) => url === `${operation.path}${query}`),
  );
}

/** What a gateway serves, as the end of a sentence. */
export function describeOperations(api: ModelApi): string {
  return OPERATIONS[api].map(({ method, path }) => `${method} ${path}`).join(' and ');
}

function describe(
  suffix: string,
  rest: Pick<ModelOperation, 'answers' | 'body'> & { queries?: readonly string[] },
): ModelOperation {
  return { method: 'POST', path: `/v1${suffix}`, suffix, queries: [], ...rest };
}
