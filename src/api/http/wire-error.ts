import { ERRORS, HaloError, type ErrorCode, type FileProblem, type Unconfirmed } from '../../core/failure/errors.ts';
import { defined, isRecord } from '../../lib/guards.ts';

/** An error as it goes over HTTP. */
export interface WireError {
  code: ErrorCode;
  message: string;
  hint?: string | undefined;
  unconfirmed?: Unconfirmed | undefined;
  /** The problems of a file, if it has some. */
  problems?: readonly FileProblem[] | undefined;
}

/** The media type of a stream: one JSON object per line. Empty lines keep the connection alive. */
export const STREAM_TYPE = 'application/x-ndjson';

export function toWireError(error: HaloError): WireError {
  const { code, message, hint, unconfirmed, problems } = error;
  return { code, message, hint, unconfirmed, ...(problems.length > 0 && { problems }) };
}

/** The error that the server threw, or undefined if `body` is not an error of halo. */
export function fromWireError(body: unknown): HaloError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, message, hint, unconfirmed, problems } = body as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  if (hint !== undefined && typeof hint !== 'string') return undefined;
  return new HaloError(isErrorCode(code) ? code : 'INTERNAL', message, {
    ...defined({ hint, unconfirmed: toUnconfirmed(unconfirmed) }),
    problems: toProblems(problems),
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

function toProblems(value: unknown): FileProblem[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each: unknown) => {
    const { file, line, where, rule } = isRecord(each) ? each : {};
    if (typeof line !== 'number' || typeof where !== 'string' || typeof rule !== 'string') return [];
    return [{ ...(typeof file === 'string' && { file }), line, where, rule }];
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
