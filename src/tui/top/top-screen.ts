import type { Operations } from '../../api/operations.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';
import { Canvas, type Screen } from '../canvas.ts';
import { executeAction, isPrdAction, type Action } from './actions.ts';
import { executePrdAction } from './prds/prd-actions.ts';
import type { PrdFiles } from './prds/prd-files.ts';
import { frameOf } from './frame.ts';
import { neededSources, openState, type DailyCosts, type RunSetting, type TopEvent, type TopState } from './model.ts';
import { readSource } from './read-source.ts';
import { update } from './update.ts';

export interface TopOptions {
  operations: Operations;
  prds: PrdFiles;
  /** The settings of a run by their keys. */
  listSettings: (config: unknown) => readonly RunSetting[];
  /** The costs of all attempts, grouped by day; absent: the view of spending stays empty. */
  readCosts?: (operations: Operations) => Promise<DailyCosts>;
  screen: Screen;
  paint: Paint;
  /** Where the runs are: a folder or a URL. */
  where: string;
  /** Calls the listener with the name of each key; returns a function that restores the terminal. */
  onKey(listener: (key: string) => void): () => void;
}

const TICK_MS = 1000;
/** Many events in quick succession are drawn once. */
const DRAW_MS = 30;

/** Shows the runs on the whole terminal until the user quits: keys and data to events, states to frames. */
export class TopScreen {
  readonly #options: TopOptions;
  readonly #canvas: Canvas;
  readonly #reading = new Map<string, AbortController>();
  readonly #ended: Promise<void>;
  readonly #closing: (() => void)[] = [];
  #end: () => void = () => undefined;
  #releaseKeys: () => void = () => undefined;
  #state: TopState;
  #drawing: NodeJS.Timeout | undefined;
  #acting: Action | undefined;
  #pasted: string | undefined;

  constructor(options: TopOptions) {
    this.#options = options;
    const { screen, paint, where } = options;
    this.#ended = new Promise((resolve) => (this.#end = resolve));
    this.#canvas = new Canvas({ screen, paint, pastes: true }, () => []);
    this.#state = openState({ now: new Date().toISOString(), where, ...this.#canvas.size() });
    const resize = () => this.#dispatch({ type: 'resized', ...this.#canvas.size() });
    const tick = () => this.#dispatch({ type: 'ticked', now: new Date().toISOString() });
    const timer = setInterval(tick, TICK_MS);
    screen.on('resize', resize);
    // The terminal may have another size and content after Ctrl-Z.
    process.on('SIGCONT', resize);
    this.#closing.push(
      () => clearInterval(timer),
      () => screen.off('resize', resize),
      () => process.off('SIGCONT', resize),
      () => this.#releaseKeys(),
    );
    this.#takeKeys();
    this.#follow();
    this.#draw();
  }

  /** Resolves when the user quits. */
  untilQuit(): Promise<void> {
    return this.#ended;
  }

  /** Restores the terminal. Safe to call twice. */
  close(): void {
    for (const close of this.#closing.splice(0)) close();
    for (const stop of this.#reading.values()) stop.abort();
    this.#reading.clear();
    clearTimeout(this.#drawing);
    this.#canvas.close();
    this.#end();
  }

  #takeKeys(): void {
    this.#releaseKeys = this.#options.onKey((key) => this.#press(key));
  }

  #press(key: string): void {
    if (key === 'paste-start') this.#pasted = '';
    else if (key === 'paste-end') {
      this.#dispatch({ type: 'pasted', text: this.#pasted ?? '' });
      this.#pasted = undefined;
    } else if (this.#pasted === undefined) this.#dispatch({ type: 'key', key });
    else this.#pasted += key === 'space' ? ' ' : Array.from(key).length === 1 ? key : '';
  }

  #dispatch(event: TopEvent): void {
    const before = this.#state;
    this.#state = update(before, event);
    if (this.#state.ended) return this.#end();
    if (this.#state.acting !== undefined && this.#state.acting !== this.#acting) void this.#act(this.#state.acting);
    this.#follow();
    this.#drawing ??= setTimeout(() => this.#draw(), DRAW_MS);
  }

  #draw(): void {
    this.#drawing = undefined;
    this.#canvas.draw(frameOf(this.#state, this.#options.paint));
  }

  /** Reads what the current view shows, and nothing else. */
  #follow(): void {
    const { reload } = this.#state;
    const needed = new Map(
      neededSources(this.#state).map((each) => [
        `${each.source} ${each.runId ?? ''} ${each.story ?? ''} ${reload}`,
        each,
      ]),
    );
    for (const [key, stop] of this.#reading) {
      if (needed.has(key)) continue;
      stop.abort();
      this.#reading.delete(key);
    }
    for (const [key, source] of needed) {
      if (this.#reading.has(key)) continue;
      const stop = new AbortController();
      this.#reading.set(key, stop);
      const { run } = this.#state;
      const after = run?.runId === source.runId ? (run?.seq ?? 0) : 0;
      const emit = (event: TopEvent) => {
        if (!stop.signal.aborted) this.#dispatch(event);
      };
      void readSource(
        this.#options.operations,
        { ...source, after },
        {
          prds: this.#options.prds,
          listSettings: this.#options.listSettings,
          readCosts: this.#options.readCosts,
          emit,
          signal: stop.signal,
        },
      );
    }
  }

  async #execute(action: Action): Promise<string> {
    const { operations, prds } = this.#options;
    const { name } = action;
    if (!isPrdAction(name)) return executeAction(operations, { ...action, name });
    if (name !== 'edit') return executePrdAction(operations, prds, { ...action, name });
    // The editor uses the terminal.
    this.#releaseKeys();
    this.#canvas.release();
    try {
      return await executePrdAction(operations, prds, { ...action, name });
    } finally {
      this.#canvas.take();
      if (this.#closing.length > 0) this.#takeKeys();
    }
  }

  async #act(action: Action): Promise<void> {
    this.#acting = action;
    try {
      this.#dispatch({ type: 'acted', text: await this.#execute(action) });
    } catch (error) {
      const { message, hint, unconfirmed } = toHaloError(error);
      this.#dispatch({ type: 'refused', failure: { message, hint, unconfirmed } });
    } finally {
      this.#acting = undefined;
    }
  }
}
