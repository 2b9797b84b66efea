import { isDeepStrictEqual } from 'node:util';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../access/authenticate.ts';
import { CountPerUser } from './count-per-user.ts';

/** Open streams of one user, over all tokens. Each one has open files and reads what is appended. */
const MAX_STREAMS = 250;
/** A follower of a run can stay connected for days. */
const CHECK_TOKEN_EVERY_MS = 5_000;

/** The streams that a server is sending. */
export class OpenStreams {
  readonly #counts = new CountPerUser({
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
    if (caller.kind === 'user') this.#counts.add(reply, caller.user.name);
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
