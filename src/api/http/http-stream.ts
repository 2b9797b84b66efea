import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { safeJson } from '../../core/safe-text.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { STREAM_TYPE, toWireError, type EventFrame, type RawFrame } from '../wire.ts';

type Frame = EventFrame | RawFrame;

/** Proxies and clients give up on a silent connection; an empty line says that all is well. */
const HEARTBEAT_MS = 15_000;

interface Exchange {
  reply: FastifyReply;
  /** Ends the stream when the server goes down. */
  closing: AbortSignal;
}

/** Answers with one JSON line per frame; an error on the way becomes the last frame. Ends when the client goes away. */
export function streamFrames(
  { reply, closing }: Exchange,
  open: (signal: AbortSignal) => AsyncIterable<Frame>,
): FastifyReply {
  const gone = new AbortController();
  // Cut, not ended: whoever follows shall know that this was not the end of the run.
  const cut = () => reply.raw.destroy();
  closing.addEventListener('abort', cut);
  reply.raw.once('close', () => {
    closing.removeEventListener('abort', cut);
    gone.abort();
  });
  const { signal } = gone;
  const body = Readable.from(lines(open(signal), signal), { objectMode: true, highWaterMark: 16 });
  return reply.type(STREAM_TYPE).header('cache-control', 'no-store').send(body);
}

async function* lines(frames: AsyncIterable<Frame>, signal: AbortSignal): AsyncGenerator<string> {
  const iterator = frames[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<Frame>> | undefined;
  try {
    for (;;) {
      pending ??= iterator.next();
      const next = await orHeartbeat(pending);
      if (next === 'heartbeat') {
        yield '\n';
        continue;
      }
      pending = undefined;
      if (next.done === true) return;
      yield `${safeJson(next.value)}\n`;
    }
  } catch (error) {
    if (!signal.aborted) yield `${safeJson({ error: toWireError(toHaloError(error)) })}\n`;
  } finally {
    pending?.catch(() => undefined);
    void iterator.return?.().catch(() => undefined);
  }
}

async function orHeartbeat<T>(pending: Promise<T>): Promise<T | 'heartbeat'> {
  let timer: NodeJS.Timeout | undefined;
  const heartbeat = new Promise<'heartbeat'>((resolve) => {
    timer = setTimeout(resolve, HEARTBEAT_MS, 'heartbeat');
  });
  try {
    return await Promise.race([pending, heartbeat]);
  } finally {
    clearTimeout(timer);
  }
}
