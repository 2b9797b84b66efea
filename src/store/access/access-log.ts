import { appendFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AccessEvent } from '../../core/access/access-event.ts';
import { ignore } from '../../lib/async.ts';
import { createFolders, readIfExists } from '../../lib/fs.ts';
import { isRecord } from '../../lib/guards.ts';
import { withLock } from '../../lib/lock.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { withDiskErrors } from '../disk-errors.ts';

/** The older half of the log is replaced when the newer one has this size. */
const MAX_BYTES = 8 * 1024 * 1024;

/** For how long repeated denials are collected into one line. */
const COLLAPSE_MS = 60_000;
const DENIALS: ReadonlySet<AccessEvent['type']> = new Set(['token.refused', 'session.refused', 'operation.denied']);
/** The denials of this process, by the path of the log: requests have a log each. */
const collectors = new Map<string, DenialCollector>();

/** The access log of one HALO_HOME: changes of users, sign-ins, denials and drained workers. Every function may throw DISK_FAILED. */
export class AccessLog {
  readonly #home: string;
  readonly #path: string;

  constructor(home: string) {
    this.#home = home;
    this.#path = join(home, 'access.jsonl');
  }

  /** Adds an event; a denial that repeats another one of the last minute is counted, and their number added later. */
  async append(event: AccessEvent): Promise<void> {
    if (!DENIALS.has(event.type)) return this.#write(event);
    const collector = collectors.get(this.#path) ?? new DenialCollector();
    collectors.set(this.#path, collector);
    const isNew = collector.add(event, { ms: COLLAPSE_MS, write: (counted) => this.#write(counted) });
    if (isNew) await this.#write(event);
  }

  async #write(event: AccessEvent): Promise<void> {
    await withDiskErrors(this.#path, async () => {
      await createFolders(this.#home, 0o700);
      const size = (await stat(this.#path).catch(() => undefined))?.size ?? 0;
      if (size > MAX_BYTES) await this.#rotate();
      await appendFile(this.#path, `${JSON.stringify(event)}\n`, { mode: 0o600 });
    });
  }

  /** Once, although several requests and processes find the file too large at the same time. */
  async #rotate(): Promise<void> {
    await withLock(`${this.#path}.lock`, async () => {
      const size = (await stat(this.#path).catch(() => undefined))?.size ?? 0;
      if (size > MAX_BYTES) await rename(this.#path, `${this.#path}.old`);
    });
  }

  /** Events at or after `since` (ISO 8601), the latest first, at most `limit`. Damaged lines are left out. */
  async read({ since = '', limit }: { since?: string | undefined; limit: number }): Promise<AccessEvent[]> {
    const texts = await withDiskErrors(this.#path, () =>
      Promise.all([this.#path, `${this.#path}.old`].map((path) => readIfExists(path))),
    );
    const events = texts.flatMap((text) => (text ?? '').split('\n').map(tryParseJson).filter(isAccessEvent).reverse());
    return events.filter(({ at }) => at >= since).slice(0, limit);
  }
}

function isAccessEvent(value: unknown): value is AccessEvent {
  return isRecord(value) && typeof value.at === 'string' && typeof value.type === 'string';
}

/** Different denials of one source that are written within a minute; further ones are only counted. */
const MAX_KINDS = 10;
/** Sources that are distinguished within a minute. */
const MAX_SOURCES = 1_000;

interface Repeats {
  count: number;
  last: AccessEvent;
}

/** Counts denials that repeat another one, so that a flood of them does not fill the access log. */
class DenialCollector {
  /** By source, then by kind. */
  readonly #sources = new Map<string, Map<string, Repeats>>();

  /** Whether the denial is to be written. Otherwise it is counted, and one line for all of them is written after `ms`. */
  add(event: AccessEvent, { ms, write }: { ms: number; write: (event: AccessEvent) => Promise<void> }): boolean {
    const { type, user, from, operation, reason, token } = event;
    const named = JSON.stringify([type, user, from]);
    const source = this.#sources.has(named) || this.#sources.size < MAX_SOURCES ? named : OTHERS;
    const kinds = this.#sources.get(source) ?? new Map<string, Repeats>();
    if (!this.#sources.has(source)) {
      this.#sources.set(source, kinds);
      setTimeout(() => void this.#flush(source, write).catch(ignore), ms).unref();
    }
    const kind = JSON.stringify([operation, reason, token]);
    const key = kinds.has(kind) || kinds.size < MAX_KINDS ? kind : OTHERS;
    const before = kinds.get(key);
    if (key !== OTHERS && before === undefined) {
      kinds.set(key, { count: 0, last: event });
      return true;
    }
    kinds.set(key, { count: (before?.count ?? 0) + 1, last: event });
    return false;
  }

  async #flush(source: string, write: (event: AccessEvent) => Promise<void>): Promise<void> {
    const kinds = this.#sources.get(source) ?? new Map<string, Repeats>();
    this.#sources.delete(source);
    for (const [key, { count, last }] of kinds) {
      if (count === 0) continue;
      const { at, type, user, from } = last;
      // Those of several kinds have only the source in common.
      await write(key === OTHERS ? { at, type, user, from, count } : { ...last, count });
    }
  }
}

const OTHERS = '';
