import type { Operations } from '../api/operations.ts';
import { safeJson, safeText } from '../core/safe-text.ts';
import type { Paint } from '../core/transcript/transcript-line.ts';
import { paintColor, paintPlain, safeStyled } from '../tui/paint.ts';
import type { Screen } from '../tui/terminal.ts';
import { resolveRun } from './options/resolve-run.ts';
import type { World } from './process-io.ts';

/** What a command works with. Everything that it prints is made safe for terminals here, whatever the command forgot. */
export interface Cli extends Omit<World, 'stdout' | 'stderr'> {
  /** Colors for stdout and for stderr; plain where there shall be none. */
  paint: Paint;
  paintErr: Paint;
  /** stdout, for progress that is drawn in place. */
  screen: Screen;
  /** The process exit code when the command returns without an error. */
  exitCode: number;
  /** Writes text to stdout and waits until it is gone, so that a slow reader slows the command down. */
  write(text: string): Promise<void>;
  /** Writes bytes to stdout as they are: for data that a program reads, never for a terminal. */
  writeExactly(bytes: Uint8Array): Promise<void>;
  /** Writes lines to stdout. */
  print(...lines: string[]): Promise<void>;
  printJson(value: unknown): Promise<void>;
  /** Writes lines for people to stderr, where they do not disturb what stdout is piped into. */
  note(...lines: string[]): Promise<void>;
  /**
   * Has what the work prints shown by the user's pager where stdout is a terminal, made safe as ever; what it notes
   * follows when the person has left the pager.
   */
  paged(work: () => Promise<void>): Promise<void>;
  /** Runs work on the operations and closes them whatever happens. */
  withOperations<T>(work: (operations: Operations) => Promise<T>): Promise<T>;
  /** The same for a command about one run: `reference` as RUN_ARGUMENT describes it. Throws RUN_NOT_FOUND. */
  withRun<T>(reference: string | undefined, work: (operations: Operations, runId: string) => Promise<T>): Promise<T>;
}

export function createCli({ stdout, stderr, ...world }: World): Cli {
  const { terminal, ask } = world;
  const paint = terminal.color.stdout ? paintColor : paintPlain;
  const paintErr = terminal.color.stderr ? paintColor : paintPlain;
  let out: NodeJS.WritableStream = stdout;
  let later: string[] | undefined;
  const write = (text: string) => writeTo(out, safeStyled(text, paint));
  const note = (text: string) => writeTo(stderr, safeStyled(text, paintErr));
  const cli: Cli = {
    ...world,
    ask: ask && ((question, signal) => ask(safeText(question), signal)),
    paint,
    paintErr,
    screen: stdout,
    exitCode: 0,
    write,
    writeExactly: (bytes) => writeTo(out, bytes),
    print: (...lines) => write(lines.map((line) => `${line}\n`).join('')),
    printJson: (value) => write(`${safeJson(value)}\n`),
    async note(...lines) {
      const text = lines.map((line) => `${line}\n`).join('');
      if (later === undefined) await note(text);
      else later.push(text);
    },
    async paged(work) {
      const pager = terminal.shown ? await world.services.openPager() : undefined;
      if (pager === undefined) return work();
      // Ctrl-C is for the pager.
      const off = world.onStop(() => undefined);
      [out, later] = [pager.input, []];
      try {
        await work();
      } finally {
        await pager.close();
        off();
        const held = later.join('');
        [out, later] = [stdout, undefined];
        await note(held);
      }
    },
    async withOperations(work) {
      const operations = await world.services.openOperations();
      try {
        return await work(operations);
      } finally {
        await operations.close();
      }
    },
    withRun: (reference, work) =>
      cli.withOperations(async (operations) => work(operations, await resolveRun(operations, reference, cli))),
  };
  return cli;
}

function writeTo(stream: NodeJS.WritableStream, data: string | Uint8Array): Promise<void> {
  if (data.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write(data, () => resolve());
  });
}
