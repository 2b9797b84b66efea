import type { FastifyRequest } from 'fastify';
import { safeJson } from '../../core/text/safe-text.ts';
import { STREAM_TYPE, type WireError } from './wire-error.ts';

/** How the frames of a stream are written. */
export interface FrameFormat {
  mediaType: string;
  heartbeat: string;
  /** `id`: from where a client continues after this frame. */
  frame(value: object, id: unknown): string;
  error(error: WireError): string;
  end: string;
}

const LINES: FrameFormat = {
  mediaType: STREAM_TYPE,
  heartbeat: '\n',
  frame: (value) => `${safeJson(value)}\n`,
  error: (error) => `${safeJson({ error })}\n`,
  end: '',
};

/** Server-sent events, which browsers read with EventSource. JSON has no line breaks, so a frame is one line of data. */
const EVENTS: FrameFormat = {
  mediaType: 'text/event-stream; charset=utf-8',
  heartbeat: ':\n\n',
  frame: (value, id) => `${id === undefined ? '' : `id: ${safeJson(id)}\n`}data: ${safeJson(value)}\n\n`,
  error: (error) => `event: problem\ndata: ${safeJson(error)}\n\n`,
  // EventSource connects again after any end, so the client has to know that nothing follows.
  end: 'event: end\ndata: {}\n\n',
};

/** Server-sent events if the client asks for them, otherwise one JSON document per line. */
export function chooseFormat({ headers }: FastifyRequest): FrameFormat {
  return headers.accept?.includes('text/event-stream') === true ? EVENTS : LINES;
}

/** The query of a stream that can be resumed; `Last-Event-ID`, which EventSource sends when it connects again, replaces `after`. */
export function resumeQuery({ headers, query }: FastifyRequest, canResume: boolean): unknown {
  const id = headers['last-event-id'];
  return canResume && typeof id === 'string' && id !== '' ? { ...(query as object), after: id } : query;
}
