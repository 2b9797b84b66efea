import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Where the clients of the providers put their key: OpenAI's, Anthropic's, Google's. */
const KEY_HEADERS = ['x-api-key', 'x-goog-api-key'];

/** Whether a request shows the token of its attempt where a client puts its key. What else it shows there is dropped. */
export function showsToken(headers: IncomingHttpHeaders, token: string): boolean {
  const bearer = /^bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
  return [bearer, ...KEY_HEADERS.map((name) => headers[name])].some((shown) => isSame(shown, token));
}

function isSame(shown: string | string[] | undefined, token: string): boolean {
  if (typeof shown !== 'string') return false;
  const [a, b] = [Buffer.from(shown), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
