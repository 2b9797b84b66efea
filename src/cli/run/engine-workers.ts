import { afterEnd, workerSteps, type WatchedWorker } from '../../core/engine/engine-workers.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';

/** A process that works for one engine. */
export interface EngineProcess {
  /** Asks it to end; it hands its stories back first. */
  stop(): void;
  /** Resolves with the reason when it has ended, as a clause. */
  ended: Promise<string>;
}

export interface EngineWorkersOptions {
  /** The engines that need a worker, with what the worker was started with. Throws CONFIG_INVALID. */
  readEngines: () => Promise<ReadonlyMap<string, string>>;
  start: (engine: string) => EngineProcess;
  say: (line: string) => void;
  /** In ms. */
  now?: () => number;
}

/** How often the engines of config.toml are compared with the running workers. */
const EVERY_MS = 2_000;

/** Keeps one worker process for each configured engine: starts, watches, restarts and stops them. */
export class EngineWorkers {
  readonly #options: EngineWorkersOptions;
  readonly #watched = new Map<string, WatchedWorker>();
  readonly #processes = new Map<string, EngineProcess>();
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #wanted: ReadonlyMap<string, string> = new Map();
  #fault: string | undefined;
  #comparing: Promise<void>;
  #isClosed = false;

  constructor(options: EngineWorkersOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#comparing = this.#compare();
    this.#timer = setInterval(() => {
      this.#comparing = this.#comparing.then(() => this.#compare());
    }, EVERY_MS).unref();
  }

  /** Stops all workers and waits for their ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#comparing;
    for (const process of this.#processes.values()) process.stop();
    await Promise.all([...this.#processes.values()].map(({ ended }) => ended));
  }

  async #compare(): Promise<void> {
    const { readEngines, say } = this.#options;
    try {
      this.#wanted = await readEngines();
      this.#fault = undefined;
    } catch (error) {
      const { message } = toHaloError(error);
      // The workers that run are kept.
      if (message !== this.#fault)
        say(`config.toml cannot be read, so the workers of engines stay as they are: ${message}`);
      this.#fault = message;
    }
    if (this.#isClosed) return;
    for (const step of workerSteps(this.#wanted, this.#watched, this.#now())) {
      if (step.do === 'start') this.#start(step.engine);
      if (step.do === 'stop') this.#stop(step.engine);
      if (step.do === 'forget') this.#watched.delete(step.engine);
    }
  }

  #start(engine: string): void {
    const { failures = 0 } = this.#watched.get(engine) ?? {};
    const settings = this.#wanted.get(engine) ?? '';
    this.#watched.set(engine, { settings, state: 'runs', at: this.#now(), failures });
    const process = this.#options.start(engine);
    this.#processes.set(engine, process);
    void process.ended.then((why) => this.#onEnd(engine, why));
    if (failures === 0) this.#options.say(`engine ${engine}: starting its worker`);
  }

  #stop(engine: string): void {
    const worker = this.#watched.get(engine);
    if (worker === undefined) return;
    const why = this.#wanted.has(engine) ? 'its settings have changed' : 'config.toml has no such engine any more';
    this.#options.say(`engine ${engine}: stopping its worker, because ${why}`);
    this.#watched.set(engine, { ...worker, state: 'stops' });
    this.#processes.get(engine)?.stop();
  }

  #onEnd(engine: string, why: string): void {
    this.#processes.delete(engine);
    const worker = this.#watched.get(engine);
    if (worker === undefined || this.#isClosed) return;
    if (worker.state === 'stops') return void this.#watched.delete(engine);
    const now = this.#now();
    const after = afterEnd(worker, now);
    this.#watched.set(engine, after);
    // Once for several ends in a row.
    if (after.failures === 1)
      this.#options.say(
        `engine ${engine}: its worker ended (${why}); it starts again in ${formatElapsed(after.at - now)}`,
      );
  }
}
