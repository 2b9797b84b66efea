import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { applyDefaults } from '../../../config/apply-defaults.ts';
import { readSecret } from '../../../config/environment/host.ts';
import { readTraceSettings } from '../config/trace-settings.ts';
import { toHaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { toTrace } from '../core/to-trace.ts';
import { doubledDelay } from '../../../lib/async.ts';
import { isDue } from '../../../core/due.ts';
import { createFolders, readFolder, writeAtomic } from '../../../lib/fs.ts';
import { haloVersion } from '../../../lib/version.ts';
import { DeliveryError, post } from '../../../lib/network/post.ts';
import { mayReceiveCredential } from '../../../lib/network/credential-target.ts';
import type { FedEvents } from '../../../store/journal/journal-feed.ts';
import type { FeedConsumer } from '../../../worker/feed/feed-reader.ts';
import { openMachineConnections } from '../../../worker/network/machine-connections.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';

type TraceContext = Pick<WorkerContext, 'home' | 'store' | 'log' | 'now' | 'env' | 'masker'>;

type TraceSettings = Awaited<ReturnType<typeof readTraceSettings>>;

const MIN_BACKOFF_MS = 5_000;
const MAX_BACKOFF_MS = 30 * 60_000;
const REQUEST_MS = 10_000;
/** A trace that no collector has taken for so long is dropped. */
const KEEP_MS = 86_400_000;
/** A run, and the `seq` of its end. */
const NAME = /^([0-9a-z]{15})-(\d+)$/;

/**
 * Sends a trace of each run that has ended to the collector of `[traces]`. Until it is sent, `<home>/traces` has an empty file
 * for it; the spans are made from the journal, with the same ids each time. Nothing else waits for it.
 */
export class TraceExporter implements FeedConsumer {
  readonly #context: TraceContext;
  readonly #dir: string;
  readonly #closing = new AbortController();
  #failed = { times: 0, retryAt: 0 };
  #sending: Promise<void> | undefined;
  #settings: TraceSettings | undefined;

  constructor(context: TraceContext) {
    this.#context = context;
    this.#dir = join(context.home, 'traces');
  }

  async take({ runId, events }: FedEvents): Promise<void> {
    const ends = events.filter(({ type }) => type === 'run.ended');
    if (ends.length === 0 || (await this.#readSettings()).endpoint === undefined) return;
    await createFolders(this.#dir, 0o700);
    for (const { seq } of ends) await writeAtomic(join(this.#dir, `${runId}-${seq}`), '', true);
  }

  flush(hurry: boolean): void {
    const now = this.#context.now();
    if (!hurry && !isDue(this.#failed.retryAt, { now, longestMs: MAX_BACKOFF_MS })) return;
    this.#sending ??= this.#sendAll()
      .then(() => void (this.#failed = { times: 0, retryAt: 0 }))
      .catch((error: unknown) => this.#noteFailure(error))
      .finally(() => (this.#sending = undefined));
  }

  async settle(): Promise<void> {
    await this.#sending;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sending;
  }

  /** While the file is invalid, the last settings count. Throws CONFIG_INVALID if there are none. */
  async #readSettings(): Promise<TraceSettings> {
    try {
      this.#settings = await readTraceSettings(this.#context.home);
    } catch (error) {
      if (this.#settings === undefined) throw error;
    }
    return this.#settings;
  }

  #noteFailure(error: unknown): void {
    const { log, now, masker } = this.#context;
    const times = this.#failed.times + 1;
    this.#failed = { times, retryAt: now() + doubledDelay(times - 1, MIN_BACKOFF_MS, MAX_BACKOFF_MS) };
    log.warn({ why: masker.text(safeLine(String(error), 500)) }, 'traces cannot be sent');
  }

  async #sendAll(): Promise<void> {
    const names = (await readFolder(this.#dir)).filter((name) => NAME.test(name));
    if (names.length === 0) return;
    const { env, masker, log } = this.#context;
    const { endpoint, headersEnv, caFile } = await this.#readSettings();
    const headers = endpoint === undefined ? {} : parseHeaders(headersEnv && readSecret(env, headersEnv));
    masker.learn(Object.values(headers));
    if (endpoint !== undefined && Object.keys(headers).length > 0 && !mayReceiveCredential(endpoint, endpoint))
      throw new DeliveryError('[traces] the headers would be sent without encryption; set an https endpoint');
    const connections = await openMachineConnections(env, caFile);
    try {
      for (const name of names.sort()) {
        const path = join(this.#dir, name);
        const isOld = this.#context.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? 0) > KEEP_MS;
        const body = endpoint === undefined || isOld ? undefined : await this.#readTrace(name);
        if (endpoint !== undefined && body !== undefined) {
          const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(REQUEST_MS)]);
          const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
          const request = { url, headers: { 'content-type': 'application/json', ...headers }, body, signal };
          await post({ connections, allowPrivate: true }, request).catch((error: unknown) => {
            if (!(error instanceof DeliveryError) || !error.isRefused) throw error;
            log.warn({ name, err: error }, 'the collector refuses a trace');
          });
        }
        await rm(path, { force: true });
      }
    } finally {
      connections.close();
    }
  }

  /** Undefined if there is no such run any more. */
  async #readTrace(name: string): Promise<string | undefined> {
    const [, runId = '', seq = ''] = NAME.exec(name) ?? [];
    const { store, masker } = this.#context;
    try {
      const [state, events] = await Promise.all([store.readState(runId), store.readWithoutActivities(runId)]);
      const hash = (text: string) => createHash('sha256').update(text).digest('hex');
      const { api } = applyDefaults((await store.readRecord(runId)).config).model;
      const { page } = await this.#readSettings();
      const about = { api, page: page && `${page}/#/run/${runId}` };
      const trace = toTrace(state, events, { seq: Number(seq), hash, version: haloVersion(), ...about });
      return trace && JSON.stringify(masker.value(trace));
    } catch (error) {
      if (toHaloError(error).code === 'RUN_NOT_FOUND') return undefined;
      throw error;
    }
  }
}

/** `name=value,name=value`, as in OTEL_EXPORTER_OTLP_HEADERS; parts of another form are left out. */
function parseHeaders(text = ''): Record<string, string> {
  const pairs = text.split(',').map((part) => /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(part));
  return Object.fromEntries(pairs.flatMap((pair) => (pair?.[1] === undefined ? [] : [[pair[1], pair[2] ?? '']])));
}
