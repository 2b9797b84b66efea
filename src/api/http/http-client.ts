import { setTimeout as sleep } from 'node:timers/promises';
import { doubledDelay } from '../../lib/async.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { truncate } from '../../core/text/safe-text.ts';
import { idOfToken } from '../access/access-token.ts';
import { bindOperations } from '../operations.ts';
import { pathKeys, type AnyOperation, type CallOperation, type Output } from '../operations/operation.ts';
import type { Operations } from '../operations.ts';
import { userName } from '../submit/user-name.ts';
import { requestFrames, request, requestJson, type RequestOptions, type Server } from './http-request.ts';

/** Maximum number of consecutive attempts to continue a broken stream without a new frame in between. */
const MAX_RESUMES = 5;
const RESUME_WAIT_MS = 500;

type Input = Record<string, unknown>;

/**
 * The operations of a server. Each throws what the server threw, API_UNREACHABLE and API_REFUSED. Throws CONFIG_INVALID if
 * others on the network could read the token.
 */
export function openHttp(server: Server): Operations {
  assertConfidential(server);
  const call = async (operation: AnyOperation, input: Input, signal?: AbortSignal): Promise<unknown> => {
    const { path, options } = toRequest(operation, input, signal);
    switch (operation.output.kind) {
      case 'json':
        return requestJson(server, path, options);
      case 'bytes':
        return Buffer.from(await (await request(server, path, options)).arrayBuffer());
      case 'stream':
        return readStream(server, { operation, output: operation.output, input }, signal);
    }
  };
  // The token of a user names the user; that of the server does not.
  const submitter = idOfToken(server.token) === undefined ? { user: userName() } : undefined;
  // The server answers with what the operation returns.
  return { ...bindOperations(call as CallOperation, submitter), close: () => Promise.resolve() };
}

function assertConfidential({ url, token }: Server): void {
  const { host, protocol } = new URL(url);
  if (token === '' || isConfidential(new URL(url))) return;
  throw new HaloError('CONFIG_INVALID', `HALO_TOKEN is not sent to ${protocol}//${host} without encryption.`, {
    hint: 'Set HALO_URL to an https:// address, or to http://127.0.0.1 with a tunnel: `ssh -N -L 7070:127.0.0.1:7070 host`.',
  });
}

function toRequest(
  operation: AnyOperation,
  input: Input,
  signal: AbortSignal | undefined,
): { path: string; options: RequestOptions } {
  const path = operation.path.replace(/\{(\w+)(\*?)\}/g, (_all, key: string, slashes: string) => {
    const value = String(input[key]);
    const segments = slashes === '' ? [value] : value.split('/');
    if (!segments.some((each) => each === '.' || each === '..')) return segments.map(encodeURIComponent).join('/');
    // It would lead to another operation, with the rights of the token.
    throw new HaloError(
      slashes === '' ? 'USAGE' : 'ARTIFACT_UNREADABLE',
      `${JSON.stringify(truncate(value, 200))} is not ${slashes === '' ? 'an id' : 'the path of a file'}.`,
      { hint: 'Leave out `.` and `..`.' },
    );
  });
  const inPath = pathKeys(operation);
  const rest = Object.entries(input).filter(([key, value]) => value !== undefined && !inPath.includes(key));
  const sent =
    operation.method === 'POST'
      ? { body: Object.fromEntries(rest) }
      : { query: Object.fromEntries(rest.map(([key, value]) => [key, String(value)])) };
  return { path, options: { ...sent, ...(signal && { signal }) } };
}

interface StreamRequest {
  operation: AnyOperation;
  output: Output & { kind: 'stream' };
  input: Input;
}

/** Yields the frames of a stream. If the connection breaks, continues after the last frame if the operation can. */
async function* readStream(
  server: Server,
  { operation, output, input }: StreamRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<object> {
  let next = input;
  for (let failures = 0; ; failures += 1) {
    const { path, options } = toRequest(operation, next, signal);
    try {
      for await (const frame of requestFrames(server, path, options)) {
        if (output.resume !== undefined) next = { ...input, ...output.resume(frame as never) };
        failures = 0;
        yield frame;
      }
      return;
    } catch (error) {
      if (signal?.aborted === true) return;
      // If the first response fails, the server is not available. Later failures are retried.
      if (!isBroken(error) || next === input || failures >= MAX_RESUMES) throw error;
      await sleep(doubledDelay(failures, RESUME_WAIT_MS), undefined, signal && { signal }).catch(() => undefined);
    }
  }
}

function isBroken(error: unknown): boolean {
  return error instanceof HaloError && error.code === 'API_UNREACHABLE';
}
