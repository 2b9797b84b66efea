import type { Command } from 'commander';
import type { Operations } from '../api/operations.ts';
import { safeJson, safeText } from '../core/text/safe-text.ts';
import type { Paint } from '../core/transcript/transcript-line.ts';
import { paintColor, paintPlain, safeStyled } from '../tui/paint.ts';
import type { Screen } from '../tui/canvas.ts';
import { resolveRun } from './options/resolve-run.ts';
import type { ProcessIo } from './process-io.ts';

/** What a command can use. All text that it prints is made safe for terminals here. */
export interface Cli extends Omit<ProcessIo, 'stdout' | 'stderr'> {
  /** Colors for stdout and for stderr; plain text if colors are off. */
  paint: Paint;
  paintErr: Paint;
  /** stdout, for progress that is redrawn in place. */
  screen: Screen;
  /** The process exit code when the command returns without an error. */
  exitCode: number;
  /** Writes text to stdout and waits until it is written, so that a slow reader slows the command down. */
  write(text: string): Promise<void>;
  /** Writes bytes to stdout unchanged: for data that a program reads, never for a terminal. */
  writeExactly(bytes: Uint8Array): Promise<void>;
  /** Writes lines to stdout. */
  print(...lines: string[]): Promise<void>;
  printJson(value: unknown): Promise<void>;
  /** Writes lines for people to stderr, so that they are not part of piped output. */
  note(...lines: string[]): Promise<void>;
  /**
   * Runs `work` with its output in the user's pager if stdout is a terminal. Notes are printed after the pager exits.
   */
  paged(work: () => Promise<void>): Promise<void>;
  /** Opens the operations for `work` and always closes them. */
  withOperations<T>(work: (operations: Operations) => Promise<T>): Promise<T>;
  /** The same for a command about one run; `reference` has the format of RUN_ARGUMENT. Throws RUN_NOT_FOUND. */
  withRun<T>(reference: string | undefined, work: (operations: Operations, runId: string) => Promise<T>): Promise<T>;
}

/** Adds arguments, options, help and action to a command. */
export type Define = (command: Command, cli: Cli) => void;

export function createCli({ stdout, stderr, ...io }: ProcessIo): Cli {
  const { terminal, ask } = io;
  const paint = terminal.color.stdout ? paintColor : paintPlain;
  const paintErr = terminal.color.stderr ? paintColor : paintPlain;
  let out: NodeJS.WritableStream = stdout;
  let later: string[] | undefined;
  const write = (text: string) => writeTo(out, safeStyled(text, paint));
  const note = (text: string) => writeTo(stderr, safeStyled(text, paintErr));
  const cli: Cli = {
    ...io,
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
      const pager = terminal.shown ? await io.services.openPager() : undefined;
      if (pager === undefined) return work();
      // Ctrl-C is for the pager.
      const off = io.onStop(() => undefined);
      [out, later] = [pager.input, []];
      try {
        await work();
      } finally {
        await pager.close();
        off();
        const postponed = later.join('');
        [out, later] = [stdout, undefined];
        await note(postponed);
      }
    },
    async withOperations(work) {
      const operations = await io.services.openOperations();
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
