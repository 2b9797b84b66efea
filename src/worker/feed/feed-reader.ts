import { randomBytes } from 'node:crypto';
import { ignore } from '../../lib/async.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import type { FedEvents } from '../../store/journal/journal-feed.ts';
import type { WorkerContext } from '../worker-context.ts';

/** What is derived from the events of all runs. */
export interface FeedConsumer {
  /** Called before the events of a pass. */
  begin?(): Promise<void>;
  /** Takes new events of a run. They are handed on again after a crash, or if this throws. */
  take(fed: FedEvents): Promise<void>;
  /** Called after each pass; `hurry`: the worker closes. Does not wait for slow work. */
  flush?(hurry: boolean): void;
  /** Waits for such work. */
  settle?(): Promise<void>;
  /** Interrupts it. */
  close?(): Promise<void>;
}

const EVERY_MS = 2_000;
/** The lease of the worker that reads for all others. */
const LEASE = 'feed';
const LEASE_MS = 10_000;

/** Hands the events of the runs of the home to its consumers, in the order of each journal. Of several workers, one does this. */
export class FeedReader {
  readonly #context: Pick<WorkerContext, 'store' | 'log'>;
  readonly #queue: Pick<StoryQueue, 'lease' | 'releaseLease'>;
  readonly #consumers: readonly FeedConsumer[];
  readonly #id = randomBytes(8).toString('hex');
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #passing: Promise<void> | undefined;
  #problem: string | undefined;

  constructor(
    context: Pick<WorkerContext, 'store' | 'log'>,
    queue: Pick<StoryQueue, 'lease' | 'releaseLease'>,
    consumers: readonly FeedConsumer[],
  ) {
    this.#context = context;
    this.#queue = queue;
    this.#consumers = consumers;
    this.#timer = setInterval(() => void this.#pass(false), EVERY_MS).unref();
  }

  /** Reads what is new, and nothing afterwards. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#passing;
    await this.#forEach((consumer) => consumer.settle?.());
    await this.#pass(true);
    await this.#forEach((consumer) => consumer.settle?.());
  }

  /** Interrupts consumers. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#forEach((consumer) => consumer.close?.());
    await this.#passing;
    await this.#queue.releaseLease(LEASE, this.#id).catch(ignore);
  }

  #pass(hurry: boolean): Promise<void> {
    return (this.#passing ??= this.#passOnce(hurry)
      .then(() => (this.#problem = undefined))
      .catch((error: unknown) => this.#warn(error))
      .finally(() => (this.#passing = undefined)));
  }

  /** The same problem, such as an invalid file of settings, is logged once. */
  #warn(error: unknown): void {
    if (String(error) !== this.#problem) this.#context.log.warn({ err: error }, 'events could not be handed on');
    this.#problem = String(error);
  }

  async #passOnce(hurry: boolean): Promise<void> {
    if (!(await this.#queue.lease(LEASE, this.#id, LEASE_MS))) return;
    await this.#forEach((consumer) => consumer.begin?.());
    const take = (fed: FedEvents) => this.#forEach((consumer) => consumer.take(fed));
    await this.#context.store.feedEvents(take, this.#closing.signal);
    for (const consumer of this.#consumers) consumer.flush?.(hurry);
  }

  async #forEach(call: (consumer: FeedConsumer) => Promise<void> | undefined): Promise<void> {
    for (const consumer of this.#consumers) await call(consumer);
  }
}
