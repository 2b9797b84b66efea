import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readEndpoints, type EndpointSettings } from '../config/endpoint-settings.ts';
import { readCaFile } from '../../../config/host-rules.ts';
import { toEngineNotification, toNotification, wantsNotification, type Notification } from '../core/notification.ts';
import { isDue } from '../../../core/due.ts';
import { lastingOutages } from '../../../core/engine/engine-outage.ts';
import type { Connections } from '../../../lib/network/connections.ts';
import { readOutages } from '../../../store/engine-outages.ts';
import type { FedEvents } from '../../../store/journal/journal-feed.ts';
import { NotificationOutbox } from '../store/notification-outbox.ts';
import type { FeedConsumer } from '../../../worker/feed/feed-reader.ts';
import { readSecret } from '../../../config/environment/host.ts';
import { openMachineConnections } from '../../../worker/network/machine-connections.ts';
import { openSecretReader, type SecretReader } from '../../../worker/network/secret-reader.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { deliverTo, dropAbandoned, type DeliveryContext } from './deliver.ts';

type NotifierContext = Pick<WorkerContext, 'home' | 'log' | 'now' | 'env' | 'masker'>;

/**
 * Reports what happens in the runs of the home to the endpoints of `[notify]`. First, new events become files of the outbox,
 * then these are sent: after kill -9 at any point, a notification is sent again with the same id rather than lost.
 */
export class Notifier implements FeedConsumer {
  readonly #context: NotifierContext;
  readonly #outbox: NotificationOutbox;
  readonly #closing = new AbortController();
  /** Endpoints that are being sent to: a slow one does not delay the others. */
  readonly #sending = new Map<string, Promise<void>>();
  /** For each endpoint, until when nothing is to be done if its part of the outbox did not change since. */
  readonly #quiet = new Map<string, { changedAt: number; until: number; longestMs: number }>();
  #droppedAt = -Infinity;
  #lookedAt = -Infinity;
  #endpoints: readonly EndpointSettings[] | undefined;
  #readAt = -1;
  #connections: Connections | undefined;
  #read: SecretReader | undefined;

  constructor(context: NotifierContext) {
    this.#context = context;
    this.#outbox = new NotificationOutbox(context.home);
  }

  /**
   * Reads the settings again when the file has changed. An invalid file keeps the last ones; if there are none yet, events
   * wait until it is valid. Throws CONFIG_INVALID then.
   */
  async begin(): Promise<void> {
    const { home, log } = this.#context;
    const changedAt = (await stat(join(home, 'config.toml')).catch(() => undefined))?.mtimeMs ?? 0;
    if (changedAt === this.#readAt && this.#endpoints !== undefined) return;
    try {
      this.#endpoints = changedAt === 0 ? [] : await readEndpoints(home);
    } catch (error) {
      if (this.#endpoints === undefined) throw error;
      log.warn({ err: error }, 'the settings of notifications are not valid');
    }
    this.#readAt = changedAt;
    this.#quiet.clear();
    this.#droppedAt = -Infinity;
  }

  async take({ events, state, isRepeated = false }: FedEvents): Promise<void> {
    if (this.#endpoints?.length === 0) return;
    const delivered = isRepeated ? await this.#outbox.delivered() : undefined;
    for (const [index, event] of events.entries()) {
      const notification = toNotification(event, state, events.slice(index + 1));
      if (notification === undefined) continue;
      await this.#add(notification, ({ name }) => delivered?.get(name)?.has(notification.id) !== true);
    }
  }

  async #add(notification: Notification, lacks: (endpoint: EndpointSettings) => boolean): Promise<void> {
    const { masker, now } = this.#context;
    for (const endpoint of this.#endpoints ?? [])
      if (wantsNotification(endpoint, notification) && lacks(endpoint))
        await this.#outbox.add(endpoint.name, masker.value(notification, KEPT), new Date(now()).toISOString());
  }

  /** An outage is reported once, however long it lasts. */
  async #takeOutages(): Promise<void> {
    this.#lookedAt = performance.now();
    const now = new Date(this.#context.now()).toISOString();
    const lasting = lastingOutages(await readOutages(this.#context.home), now).map(toEngineNotification);
    const noted = await this.#outbox.noted();
    const ids = lasting.map(({ id }) => id);
    if (ids.join() === noted.join()) return;
    for (const each of lasting) if (!noted.includes(each.id)) await this.#add(each, () => true);
    await this.#outbox.note(ids);
  }

  flush(hurry: boolean): void {
    const isLookDue = hurry || performance.now() - this.#lookedAt > LOOK_EVERY_MS;
    if (isLookDue && !this.#sending.has(ENGINES))
      this.#work(ENGINES, this.#takeOutages(), 'outages of engines could not be read');
    if (performance.now() - this.#droppedAt > DROP_EVERY_MS) this.#dropAbandoned();
    for (const endpoint of this.#endpoints ?? []) this.#sendTo(endpoint, hurry);
  }

  async settle(): Promise<void> {
    await Promise.all(this.#sending.values());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.settle();
    this.#connections?.close();
  }

  #sendTo(endpoint: EndpointSettings, hurry: boolean): void {
    const { name } = endpoint;
    if (this.#sending.has(name)) return;
    const work = this.#openDelivery().then((context) => this.#deliver(endpoint, context, hurry));
    this.#work(name, work, 'notifications failed');
  }

  /** Works beside the feed. `of`: an endpoint, or what else is done once at a time. */
  #work(of: string, work: Promise<void>, failure: string): void {
    const logged = work
      .catch((error: unknown) => this.#context.log.warn({ err: error, endpoint: of }, failure))
      .finally(() => this.#sending.delete(of));
    this.#sending.set(of, logged);
  }

  /** Reads the notifications of an endpoint only if one was added or is due: those that were given up stay for weeks. */
  async #deliver(endpoint: EndpointSettings, context: DeliveryContext, hurry: boolean): Promise<void> {
    const { name } = endpoint;
    const changedAt = await this.#outbox.changedAt(name);
    const quiet = this.#quiet.get(name);
    const now = context.now();
    if (!hurry && quiet?.changedAt === changedAt && !isDue(quiet.until, { now, ...quiet })) return;
    const until = await deliverTo(endpoint, context, { signal: this.#closing.signal, hurry });
    // Two changes within a tick of the clock of the file system have the same time.
    if (Date.now() - changedAt > SETTLED_MS)
      this.#quiet.set(name, { changedAt, until, longestMs: until - context.now() });
  }

  #dropAbandoned(): void {
    this.#droppedAt = performance.now();
    const { log, now } = this.#context;
    const configured = new Set(this.#endpoints?.map(({ name }) => name));
    const work = this.#outbox.endpoints().then(async (names) => {
      for (const name of names.filter((each) => !configured.has(each))) {
        const dropped = await dropAbandoned(name, { outbox: this.#outbox, now });
        if (dropped > 0) log.warn({ endpoint: name, dropped }, 'dropped notifications of a removed endpoint');
      }
    });
    this.#work(REMOVED, work, 'notifications of removed endpoints could not be dropped');
  }

  async #openDelivery(): Promise<DeliveryContext> {
    const { home, env, masker, now } = this.#context;
    this.#connections ??= await openMachineConnections(env, await readCaFile(home));
    // A command that prints a secret runs once.
    this.#read ??= openSecretReader((name) => readSecret(env, name));
    return { read: this.#read, masker, now, outbox: this.#outbox, connections: this.#connections };
  }
}

/** How often notifications of endpoints that are no longer configured are looked at. */
const DROP_EVERY_MS = 60 * 60_000;
/** How often outages of engines are looked at. */
const LOOK_EVERY_MS = 10_000;
const SETTLED_MS = 1_000;
/** No names of endpoints. */
const [REMOVED, ENGINES] = ['(removed)', '(engines)'];

/** Keys whose values halo makes itself. */
const KEPT: ReadonlySet<string> = new Set(['id', 'type', 'at', 'run', 'engine']);
