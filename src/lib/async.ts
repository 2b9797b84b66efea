/** Resolves after `ms`, or immediately when the signal aborts. Never rejects, so check the signal afterwards. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** The delay after a number of failures, in ms: it begins with `firstMs` and doubles up to `maxMs`. */
export function doubledDelay(failures: number, firstMs: number, maxMs = Infinity): number {
  return Math.min(maxMs, firstMs * 2 ** failures);
}

/** Waits for `work`, but no longer than `ms`. Does not cancel the work. Throws if the work fails in time. */
export async function withTimeout(ms: number, work: Promise<unknown>): Promise<'in time' | 'late'> {
  const done = new AbortController();
  try {
    return await Promise.race([
      work.then(() => 'in time' as const),
      sleep(ms, done.signal).then(() => 'late' as const),
    ]);
  } finally {
    done.abort();
  }
}

/** Memoizes an async function by its argument; concurrent callers share one call. Failures are not cached. */
export function memoizeAsync<K, T>(load: (key: K) => Promise<T>): (key: K) => Promise<T> {
  const results = new Map<K, Promise<T>>();
  return (key) => {
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = load(key);
    results.set(key, result);
    result.catch(() => results.delete(key));
    return result;
  };
}

/**
 * Maps items with at most `concurrency` calls in progress; results are in the order of the items. Throws the first error
 * and starts no further calls after it.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const pending = [...items.entries()].values();
  let failed = false;
  const runAll = async () => {
    for (const [index, item] of pending) {
      if (failed) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runAll));
  return results;
}

/** Creates a queue that runs the tasks of each key one at a time, in the order of the calls, also after failed tasks. */
export function keyedQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const turn = (tails.get(key) ?? Promise.resolve()).then(work, work);
    const tail = turn.then(
      () => undefined,
      () => undefined,
    );
    tails.set(key, tail);
    void tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key);
    });
    return turn;
  };
}

/**
 * Returns a function that runs `work` one call at a time: calls during a running call cause one more after it, which sees
 * what they have changed. It never rejects: failures of `work` are ignored.
 */
export function latest(work: () => Promise<unknown>): () => Promise<void> {
  let isDue = false;
  let running: Promise<void> | undefined;
  const runDue = async () => {
    while (isDue) {
      isDue = false;
      await work().catch(ignore);
    }
    running = undefined;
  };
  return () => {
    isDue = true;
    return (running ??= runDue());
  };
}

/** Ignores a result or an error: `promise.catch(ignore)`. */
export function ignore(): undefined {}

/** A promise that others settle. Without a reader, its rejection is ignored. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(this: void, value: T | Promise<T>): void;
  reject(this: void, error: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  let settle: Pick<Deferred<T>, 'resolve' | 'reject'> | undefined;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(ignore);
  return { promise, resolve: (value) => settle?.resolve(value), reject: (error) => settle?.reject(error) };
}

interface RetryOptions {
  /** The delays in ms before further calls; their number limits the calls. */
  delaysMs: readonly number[];
  /** Whether another call can help after this error; default: always. */
  isRetryable?: (error: unknown) => boolean;
}

/** Calls `work` until it succeeds. Throws its error when no retry is left or the error is not retryable. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { delaysMs, isRetryable = () => true } = options;
  for (const delayMs of delaysMs) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error)) throw error;
    }
    if (delayMs > 0) await sleep(delayMs);
  }
  return work();
}

/** Runs all close functions in reverse order, even if some fail. Throws the first error. */
export async function closeAll(opened: (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of opened.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Runs `work` and closes the resource if it fails. Throws what `work` throws. */
export async function closeOnError<T>(opened: { close(): unknown }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await opened.close();
    throw error;
  }
}
