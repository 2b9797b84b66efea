import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { EndpointSettings } from '../../config/endpoint-settings.ts';
import { readCaFile, readEndpoints } from '../../config/host-rules.ts';
import { wantsNotification } from '../../core/notify/endpoint-filter.ts';
import { toNotification } from '../../core/notify/notification.ts';
import type { Connections } from '../../lib/network/connections.ts';
import type { FedEvents } from '../../store/journal/journal-feed.ts';
import { NotificationOutbox } from '../../store/notification-outbox.ts';
import type { FeedConsumer } from '../feed/feed-reader.ts';
import { readSecret } from '../../config/environment/host.ts';
import { openMachineConnections } from '../network/machine-connections.ts';
import { openSecretReader, type SecretReader } from '../network/secret-reader.ts';
import type { WorkerContext } from '../worker-context.ts';
import { deliverTo, type DeliveryContext } from './deliver.ts';

export type NotifierContext = Pick<WorkerContext, 'home' | 'log' | 'now' | 'env' | 'masker'>;

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
  }

  async take({ events, state }: FedEvents): Promise<void> {
    const { masker, now } = this.#context;
    const endpoints = this.#endpoints ?? [];
    if (endpoints.length === 0) return;
    for (const [index, event] of events.entries()) {
      const notification = toNotification(event, state, events.slice(index + 1));
      if (notification === undefined) continue;
      for (const endpoint of endpoints)
        if (wantsNotification(endpoint, notification))
          await this.#outbox.add(endpoint.name, masker.value(notification, KEPT), new Date(now()).toISOString());
    }
  }

  flush(hurry: boolean): void {
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
    const work = this.#openDelivery()
      .then((context) => deliverTo(endpoint, context, { signal: this.#closing.signal, hurry }))
      .catch((error: unknown) => this.#context.log.warn({ err: error, endpoint: name }, 'notifications failed'))
      .finally(() => this.#sending.delete(name));
    this.#sending.set(name, work);
  }

  async #openDelivery(): Promise<DeliveryContext> {
    const { home, env, masker, now } = this.#context;
    this.#connections ??= await openMachineConnections(env, await readCaFile(home));
    // A command that prints a secret runs once.
    this.#read ??= openSecretReader((name) => readSecret(env, name));
    return { read: this.#read, masker, now, outbox: this.#outbox, connections: this.#connections };
  }
}

/** Keys whose values halo makes itself. */
const KEPT: ReadonlySet<string> = new Set(['id', 'type', 'at', 'run']);
