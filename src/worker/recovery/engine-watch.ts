import { judgeEngine, type EngineStanding } from '../../core/engine/engine-standing.ts';

interface EngineWatchOptions {
  /** Asks the engine. Undefined: it can run stories; otherwise, why it cannot. Throws if it does not answer. */
  ask: () => Promise<Error | undefined>;
  /** Between two questions, in ms. */
  everyMs: number;
  /** See `judgeEngine`. */
  goneMs: number;
  /** Called when the standing changes; `why`: what the last question has found. */
  onChange: (standing: EngineStanding, why: unknown) => void;
}

/** Asks an engine regularly whether it still answers. */
export class EngineWatch {
  readonly #options: EngineWatchOptions;
  #standing: EngineStanding = 'answers';
  #answeredAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: EngineWatchOptions) {
    this.#options = options;
  }

  /** Resolves after the first question. */
  async start(): Promise<void> {
    await this.#look();
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.start(), this.#options.everyMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { ask, goneMs, onChange } = this.#options;
    let why: unknown;
    const answered = await ask().then(
      (missing) => {
        why = missing;
        return true;
      },
      (error: unknown) => {
        why = error;
        return false;
      },
    );
    if (this.#isClosed) return;
    if (answered) this.#answeredAt = performance.now();
    const standing = judgeEngine(
      { answered, isReady: why === undefined, silentMs: performance.now() - this.#answeredAt },
      goneMs,
    );
    if (standing === this.#standing) return;
    this.#standing = standing;
    onChange(standing, why);
  }
}
