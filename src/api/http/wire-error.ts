import { ERRORS, HaloError, type ErrorCode, type Unconfirmed } from '../../core/failure/errors.ts';
import { defined, isRecord } from '../../lib/guards.ts';

/** An error as it goes over HTTP. */
export interface WireError {
  code: ErrorCode;
  message: string;
  hint?: string | undefined;
  unconfirmed?: Unconfirmed | undefined;
}

/** The media type of a stream: one JSON object per line. Empty lines keep the connection alive. */
export const STREAM_TYPE = 'application/x-ndjson';

export function toWireError(error: HaloError): WireError {
  const { code, message, hint, unconfirmed } = error;
  return { code, message, hint, unconfirmed };
}

/** The error that the server threw, or undefined if `body` is not an error of halo. */
export function fromWireError(body: unknown): HaloError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, message, hint, unconfirmed } = body as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  if (hint !== undefined && typeof hint !== 'string') return undefined;
  return new HaloError(isErrorCode(code) ? code : 'INTERNAL', message, {
    ...defined({ hint, unconfirmed: toUnconfirmed(unconfirmed) }),
  });
}

function toUnconfirmed(value: unknown): Unconfirmed | undefined {
  if (!isRecord(value) || typeof value['commit'] !== 'string' || !Array.isArray(value['found'])) return undefined;
  const found = value['found'].flatMap((each: unknown) => {
    const { run, flag, text } = isRecord(each) ? each : {};
    return typeof run === 'string' && typeof flag === 'string' && typeof text === 'string' ? [{ run, flag, text }] : [];
  });
  return { commit: value['commit'], found };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
