import { readStream } from '../../../lib/fs.ts';
import type { Connections } from '../../../lib/network/connections.ts';
import { sendRequest } from '../../../lib/network/send-request.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';

const WAIT_MS = 15_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** The JSON at an address; redirects are not followed. Throws an Error whose message ends a sentence. */
export async function fetchJson(
  connections: Connections,
  url: string,
  { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal | undefined } = {},
): Promise<unknown> {
  const late = AbortSignal.timeout(WAIT_MS);
  const until = signal === undefined ? late : AbortSignal.any([late, signal]);
  const request = { method: 'GET', headers: { accept: 'application/json', ...headers }, signal: until };
  const response = await sendRequest(connections, url, request).catch((error: unknown) => {
    throw new Error(late.aborted ? `no answer within ${WAIT_MS / 1_000} s` : (error as Error).message);
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new Error(`the answer is ${response.status}`);
  }
  const text = (await readStream(response.body, MAX_BYTES)).toString('utf8');
  const value = tryParseJson(text);
  if (value === undefined) throw new Error('the answer is not JSON');
  return value;
}
