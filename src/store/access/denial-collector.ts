import type { AccessEvent } from '../../core/access/access-event.ts';
import { ignore } from '../../lib/async.ts';

/** Different denials of one source that are written within a minute; further ones are only counted. */
const MAX_KINDS = 10;
/** Sources that are distinguished within a minute. */
const MAX_SOURCES = 1_000;

interface Repeats {
  count: number;
  last: AccessEvent;
}

/** Counts denials that repeat another one, so that a flood of them does not fill the access log. */
export class DenialCollector {
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
