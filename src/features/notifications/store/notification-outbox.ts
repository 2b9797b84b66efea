import { appendFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { NOTIFICATION_TYPES, type Notification } from '../core/notification.ts';
import { createFolders, pathExists, readFolder, readIfExists, writeAtomic } from '../../../lib/fs.ts';
import { isRecord } from '../../../lib/guards.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';
import { withDiskErrors } from '../../../store/disk-errors.ts';

/** A notification that one endpoint has not received yet. */
export interface PendingNotification {
  notification: Notification;
  /** Failed deliveries so far. */
  failures: number;
  /** ISO 8601 */
  addedAt: string;
  /** ISO 8601: not before this time; absent: immediately. */
  notBefore?: string | undefined;
  /** How long the last failure makes the endpoint wait, in ms. */
  waitMs?: number | undefined;
  /** How long it has waited because of all failures before the last one, in ms. */
  waitedMs?: number | undefined;
  /** Why the last delivery failed. */
  why?: string | undefined;
  /** halo has given up; `halo hooks retry` tries again. */
  givenUp?: boolean | undefined;
}

/** A line of the delivery log. */
export interface Delivery {
  /** ISO 8601 */
  at: string;
  endpoint: string;
  /** Ids of the notifications. */
  ids: string[];
  type: string;
  /** Absent for an engine. */
  run?: string;
  result: 'delivered' | 'failed' | 'given up';
  why?: string | undefined;
}

const DISABLED = 'disabled.txt';
const NAME = /^[0-9a-z]+-\d+\.json$/;
const ENDPOINT = /^[a-z0-9-]+$/;
/** The older half of the log is replaced when the newer one has this size. */
const MAX_LOG_BYTES = 2 * 1024 * 1024;

/** What endpoints still have to receive, a file for each notification in `<home>/notifications/<endpoint>`, and the delivery log. */
export class NotificationOutbox {
  readonly #dir: string;
  readonly #log: string;
  readonly #noted: string;

  constructor(home: string) {
    this.#dir = join(home, 'notifications');
    this.#log = join(this.#dir, 'deliveries.jsonl');
    this.#noted = join(this.#dir, 'lasting.json');
  }

  /** Adds a notification, unless it is there. Durable. Throws DISK_FAILED. */
  async add(endpoint: string, notification: Notification, at: string): Promise<void> {
    const path = this.#path(endpoint, notification.id);
    await withDiskErrors(path, async () => {
      if (await pathExists(path)) return;
      await createFolders(join(this.#dir, endpoint), 0o700);
      await this.#write(path, { notification, failures: 0, addedAt: at });
    });
  }

  /** What an endpoint has not received: runs in the order of their ids, each in the order of its journal. */
  async pending(endpoint: string): Promise<PendingNotification[]> {
    const dir = join(this.#dir, endpoint);
    const names = (await withDiskErrors(dir, () => readFolder(dir))).filter((name) => NAME.test(name));
    const found = await Promise.all(
      names.map(async (name) => tryParseJson((await readIfExists(join(dir, name))) ?? '')),
    );
    return found.filter(isPending).sort((a, b) => compareIds(a.notification.id, b.notification.id));
  }

  /** The ids of notifications about what still lasts, which every endpoint that wants them has been given. */
  async noted(): Promise<string[]> {
    const ids = tryParseJson((await withDiskErrors(this.#noted, () => readIfExists(this.#noted))) ?? '');
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  }

  /** Durable. */
  async note(ids: readonly string[]): Promise<void> {
    await withDiskErrors(this.#noted, async () => {
      await createFolders(this.#dir, 0o700);
      await writeAtomic(this.#noted, JSON.stringify(ids), true);
    });
  }

  /** When something was added to an endpoint, changed or removed, in ms since 1970; 0: nothing ever was. */
  async changedAt(endpoint: string): Promise<number> {
    return (await stat(join(this.#dir, endpoint)).catch(() => undefined))?.mtimeMs ?? 0;
  }

  /** Endpoints for which there are notifications, also those that are no longer configured. */
  async endpoints(): Promise<string[]> {
    const names = (await withDiskErrors(this.#dir, () => readFolder(this.#dir))).filter((name) => ENDPOINT.test(name));
    const waiting = await Promise.all(names.map((name) => readFolder(join(this.#dir, name)).catch(() => [])));
    return names.filter((_name, index) => waiting[index]?.some((file) => NAME.test(file)) === true);
  }

  /** Durable. */
  async update(endpoint: string, pending: PendingNotification): Promise<void> {
    await this.#write(this.#path(endpoint, pending.notification.id), pending);
  }

  async remove(endpoint: string, id: string): Promise<void> {
    await rm(this.#path(endpoint, id), { force: true });
  }

  /** Records that an endpoint wants no more notifications. */
  async disable(endpoint: string, why: string): Promise<void> {
    await writeAtomic(join(this.#dir, endpoint, DISABLED), why, true);
  }

  /** Why an endpoint is not sent to any more; undefined if it is. */
  async whyDisabled(endpoint: string): Promise<string | undefined> {
    return readIfExists(join(this.#dir, endpoint, DISABLED));
  }

  async enable(endpoint: string): Promise<void> {
    await rm(join(this.#dir, endpoint, DISABLED), { force: true });
  }

  async record(delivery: Delivery): Promise<void> {
    await withDiskErrors(this.#log, async () => {
      await createFolders(this.#dir, 0o700);
      const size = (await stat(this.#log).catch(() => undefined))?.size ?? 0;
      if (size > MAX_LOG_BYTES) await rename(this.#log, `${this.#log}.old`);
      await appendFile(this.#log, `${JSON.stringify(delivery)}\n`, { mode: 0o600 });
    });
  }

  /** The latest deliveries, the newest first. */
  async deliveries(limit: number): Promise<Delivery[]> {
    const texts = await withDiskErrors(this.#log, () =>
      Promise.all([this.#log, `${this.#log}.old`].map((path) => readIfExists(path))),
    );
    return texts
      .flatMap((text) => (text ?? '').split('\n').map(tryParseJson).filter(isDelivery).reverse())
      .slice(0, limit);
  }

  /** For each endpoint, the ids of the notifications that it has received, as far as the log goes back. */
  async delivered(): Promise<Map<string, Set<string>>> {
    const found = new Map<string, Set<string>>();
    for (const { endpoint, ids, result } of await this.deliveries(Infinity)) {
      if (result !== 'delivered') continue;
      const known = found.get(endpoint) ?? new Set();
      found.set(endpoint, known);
      for (const id of ids) known.add(id);
    }
    return found;
  }

  async #write(path: string, pending: PendingNotification): Promise<void> {
    await writeAtomic(path, `${JSON.stringify({ v: 1, ...pending })}\n`, true);
  }

  #path(endpoint: string, id: string): string {
    return join(this.#dir, endpoint, `${id}.json`);
  }
}

function compareIds(a: string, b: string): number {
  const [runA = '', seqA = ''] = a.split('-');
  const [runB = '', seqB = ''] = b.split('-');
  if (runA !== runB) return runA < runB ? -1 : 1;
  return Number(seqA) - Number(seqB);
}

function isPending(value: unknown): value is PendingNotification {
  if (!isRecord(value) || !isRecord(value.notification)) return false;
  const { id, type } = value.notification;
  const isKnown = (NOTIFICATION_TYPES as readonly unknown[]).includes(type);
  return isKnown && typeof id === 'string' && typeof value.failures === 'number';
}

function isDelivery(value: unknown): value is Delivery {
  return (
    isRecord(value) && typeof value.at === 'string' && typeof value.endpoint === 'string' && Array.isArray(value.ids)
  );
}
