import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { toHaloError } from '../../core/failure/errors.ts';
import type { FrameFormat } from './event-stream.ts';
import { toWireError } from './wire-error.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../access/authenticate.ts';
import { UserTurns } from '../access/user-turns.ts';

/** Interval of heartbeats, without which proxies and clients close a silent connection. */
const HEARTBEAT_MS = 15_000;

interface Exchange {
  reply: FastifyReply;
  /** Aborted when the server shuts down; ends the stream. */
  closing: AbortSignal;
  format: FrameFormat;
  /** From where a client continues after a frame; undefined: from the start. */
  idOf: (frame: object) => unknown;
}

/** Sends frames as they arrive. An error becomes the last frame. Stops when the client disconnects. */
export async function streamFrames(
  { reply, closing, format, idOf }: Exchange,
  open: (signal: AbortSignal) => Promise<AsyncIterable<object>>,
): Promise<FastifyReply> {
  const gone = new AbortController();
  // Destroyed instead of ended, so that the client knows that the stream is incomplete.
  const abort = () => reply.raw.destroy();
  closing.addEventListener('abort', abort);
  reply.raw.once('close', () => {
    closing.removeEventListener('abort', abort);
    gone.abort();
  });
  const { signal } = gone;
  // What fails before the first frame is a plain error response.
  const frames = await open(signal);
  const body = Readable.from(encode(frames, { format, idOf, signal }), { objectMode: true, highWaterMark: 16 });
  return reply.type(format.mediaType).header('cache-control', 'no-store').send(body);
}

async function* encode(
  frames: AsyncIterable<object>,
  { format, idOf, signal }: Pick<Exchange, 'format' | 'idOf'> & { signal: AbortSignal },
): AsyncGenerator<string> {
  const iterator = frames[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<object>> | undefined;
  try {
    for (;;) {
      pending ??= iterator.next();
      const next = await orHeartbeat(pending);
      if (next === 'heartbeat') {
        yield format.heartbeat;
        continue;
      }
      pending = undefined;
      if (next.done === true) {
        yield format.end;
        return;
      }
      yield format.frame(next.value, idOf(next.value));
    }
  } catch (error) {
    if (!signal.aborted) yield format.error(toWireError(toHaloError(error)));
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

/** Open streams of one user, over all tokens. Each one has open files and reads what is appended. */
const MAX_STREAMS = 250;
/** A follower of a run can stay connected for days. */
const CHECK_TOKEN_EVERY_MS = 5_000;

/** The streams that a server is sending. */
export class OpenStreams {
  readonly #counts = new UserTurns({
    max: MAX_STREAMS,
    what: 'open streams',
    hint: 'End commands that follow runs, such as `halo logs --follow`.',
  });
  readonly #stalledMs: number;

  /** `stalledMs`: for how long a client may read nothing of what is sent to it. */
  constructor(stalledMs: number) {
    this.#stalledMs = stalledMs;
  }

  /**
   * Counts a stream until the reply ends, and closes the connection if the client stops reading. The signal is aborted when
   * `identify` no longer returns the same caller, or fails. Throws TOO_MANY_REQUESTS.
   */
  add(
    reply: FastifyReply,
    { caller, identify }: { caller: Caller; identify: () => Promise<Caller | undefined> },
  ): AbortSignal {
    if (caller.kind === 'user') reply.raw.once('close', this.#counts.take(caller.user.name));
    reply.raw.setTimeout(this.#stalledMs, () => reply.raw.destroy());
    return this.watch(reply, { caller, identify });
  }

  /** A signal that is aborted when `identify` no longer returns the same caller, or fails, until the reply ends. */
  watch(
    reply: FastifyReply,
    { caller, identify }: { caller: Caller; identify: () => Promise<Caller | undefined> },
  ): AbortSignal {
    const changed = new AbortController();
    const timer = setInterval(() => {
      identify().then(
        (now) => !isDeepStrictEqual(now, caller) && changed.abort(),
        // A user who cannot be confirmed sees nothing more; the client connects again.
        () => changed.abort(),
      );
    }, CHECK_TOKEN_EVERY_MS);
    reply.raw.once('close', () => clearInterval(timer));
    return changed.signal;
  }
}
