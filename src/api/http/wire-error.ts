import { ERRORS, HaloError, type ErrorCode } from '../../core/failure/errors.ts';
import { defined } from '../../lib/guards.ts';

/** An error as it goes over HTTP. */
export interface WireError {
  code: ErrorCode;
  message: string;
  hint?: string | undefined;
}

/** The media type of a stream: one JSON object per line. Empty lines keep the connection alive. */
export const STREAM_TYPE = 'application/x-ndjson';

export function toWireError(error: HaloError): WireError {
  return { code: error.code, message: error.message, hint: error.hint };
}

/** The error that the server threw, or undefined if `body` is not an error of halo. */
export function fromWireError(body: unknown): HaloError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, message, hint } = body as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  if (hint !== undefined && typeof hint !== 'string') return undefined;
  return new HaloError(isErrorCode(code) ? code : 'INTERNAL', message, defined({ hint }));
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
