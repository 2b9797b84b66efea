import { appendFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { factsOf, type RunFacts } from '../core/listing/run-facts.ts';
import { omit, type RunState } from '../core/run/state.ts';
import { keyedQueue } from '../lib/async.ts';
import { writeAtomic } from '../lib/fs.ts';
import { LockBusyError, withLock } from '../lib/lock.ts';
import { tryParseJson } from '../lib/parse-json.ts';
import { RUN_ID } from '../lib/run-id.ts';
import { isDiskError, isMissing } from './disk-errors.ts';

/** A line of the index. Of several lines of a run, the last one counts. */
type Line = RunFacts & { runId: string; v: number };

/** The state and the text of a line of another version count as missing. Raise it if they mean something else. */
const VERSION = 2;

/**
 * Facts about the runs of a home, in `<home>/run-index.jsonl`, so that a list need not read the runs that it leaves out. It
 * is derived from the journals: a run without a line is read instead, and so are the state and the text of a run whose line
 * has none. A line with a state is that of the journal's end, because `forgetState` is called before an ended run changes.
 */
export class RunIndex {
  readonly #path: string;
  readonly #inOrder = keyedQueue();
  #facts = new Map<string, RunFacts>();
  #read: Position = { file: '', offset: 0 };

  constructor(home: string) {
    this.#path = join(home, 'run-index.jsonl');
  }

  /** By run id. May have runs that were removed, and lack others. */
  async read(): Promise<ReadonlyMap<string, RunFacts>> {
    return this.#inOrder('', () => this.#catchUp());
  }

  /**
   * Records the facts of runs as of now. If the index is locked for long or cannot be written, the runs are read instead: the
   * journals have been written, and the caller must not fail.
   */
  async add(runs: readonly RunState[]): Promise<void> {
    await this.#append(runs.map(lineOf), { durable: false }).catch((error: unknown) => {
      if (!(error instanceof LockBusyError) && !isDiskError(error)) throw error;
    });
  }

  /** Call it before an ended run changes, while the run is locked: until `add`, its state is read from its journal. */
  async forgetState(run: RunState): Promise<void> {
    await this.#append([omit(lineOf(run), 'state', 'text', 'endedAt')], { durable: true });
  }

  /**
   * Adds the runs that `readRuns` returns, without a lock on them; with `all`, they replace all others. Lines that are added
   * meanwhile are newer and stay.
   */
  async refresh(readRuns: () => Promise<readonly RunState[]>, { all }: { all: boolean }): Promise<void> {
    const before = await readFrom(this.#path, { file: '', offset: 0 }, { text: false });
    const runs = await readRuns();
    if (runs.length === 0 && !all) return;
    await this.#locked(async () => {
      const { text } = await readFrom(this.#path, { file: before.file, offset: before.size });
      const newer = new Set(parseLines(text).map(({ runId }) => runId));
      const lines = toText(runs.filter(({ runId }) => !newer.has(runId)).map(lineOf));
      if (all) await writeAtomic(this.#path, lines + text);
      else await appendFile(this.#path, lines, { mode: 0o600 });
    });
  }

  async #append(lines: readonly Line[], { durable }: { durable: boolean }): Promise<void> {
    if (lines.length === 0) return;
    await this.#locked(async () => {
      await appendFile(this.#path, toText(lines), { mode: 0o600, flush: durable });
    });
  }

  async #locked(work: () => Promise<void>): Promise<void> {
    await withLock(`${this.#path}.lock`, work, { makeFolder: true });
  }

  async #catchUp(): Promise<ReadonlyMap<string, RunFacts>> {
    const { text, file, isSame } = await readFrom(this.#path, this.#read);
    if (!isSame) {
      this.#facts = new Map();
      this.#read = { file, offset: 0 };
    }
    // A line that is being written is read later.
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    for (const line of parseLines(complete)) this.#facts.set(line.runId, line);
    this.#read.offset += Buffer.byteLength(complete);
    return this.#facts;
  }
}

/** More is read from the journal: a list reads the index of all runs. */
const MAX_TEXT_BYTES = 8_192;

/** What an open run may change is left out. */
function lineOf(run: RunState): Line {
  const facts = factsOf(run);
  const line: Line = { v: VERSION, runId: run.runId, ...facts };
  if (run.status !== 'ended') return omit(line, 'state', 'text');
  return Buffer.byteLength(facts.text) > MAX_TEXT_BYTES ? omit(line, 'text') : line;
}

/** Each line begins with a line break, too: a line that a dying process began must not damage the next one. */
function toText(lines: readonly Line[]): string {
  return lines.map((line) => `\n${JSON.stringify(line)}\n`).join('');
}

function parseLines(text: string): Line[] {
  const lines = text.split('\n').filter((line) => line !== '');
  // All of them take less time together. What a damaged line leaves open, no other line continues.
  const values = tryParseJson(`[${lines.join(',')}]`) ?? lines.map((line) => tryParseJson(line));
  return (values as (Partial<Line> | null | undefined)[])
    .filter(
      (line): line is Line =>
        typeof line?.runId === 'string' && RUN_ID.test(line.runId) && typeof line.repo === 'string',
    )
    .map((line) => (line.v === VERSION ? line : omit(line, 'state', 'text')));
}

/** Up to where a file was read. */
interface Position {
  /** Names the file, so that one that replaces it is noticed; empty: none was read. */
  file: string;
  offset: number;
}

interface ReadText {
  /** From the position on; all of it if the file was replaced. */
  text: string;
  file: string;
  size: number;
  isSame: boolean;
}

async function readFrom(path: string, { file: before, offset }: Position, what = { text: true }): Promise<ReadText> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (handle === undefined) return { text: '', file: '', size: 0, isSame: before === '' };
  try {
    const { ino, birthtimeMs, size } = await handle.stat();
    const file = `${ino}:${birthtimeMs}`;
    const isSame = file === before && size >= offset;
    const from = isSame ? offset : 0;
    if (!what.text || size === from) return { text: '', file, size, isSame };
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    return { text: buffer.toString('utf8', 0, bytesRead), file, size, isSame };
  } finally {
    await handle.close();
  }
}
