import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Headers in which the clients of Anthropic and Google send their key; OpenAI's use `authorization`. */
const KEY_HEADERS = ['x-api-key', 'x-goog-api-key'];

/** Whether a request presents the token of its attempt in one of the headers for API keys. */
export function hasAttemptToken(headers: IncomingHttpHeaders, token: string): boolean {
  const bearer = /^bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
  return [bearer, ...KEY_HEADERS.map((name) => headers[name])].some((shown) => isSame(shown, token));
}

function isSame(shown: string | string[] | undefined, token: string): boolean {
  if (typeof shown !== 'string') return false;
  const [a, b] = [Buffer.from(shown), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
