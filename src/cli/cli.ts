import type { Operations } from '../api/operations.ts';
import { safeJson } from '../core/safe-text.ts';
import type { Paint } from '../core/transcript-line.ts';
import { paintColor, paintPlain } from '../tui/paint.ts';
import { resolveRun } from './resolve-run.ts';
import type { World } from './world.ts';

/** What a command works with. */
export interface Cli extends World {
  /** Colors for stdout and for stderr; plain where there shall be none. */
  paint: Paint;
  paintErr: Paint;
  /** The process exit code when the command returns without an error. */
  exitCode: number;
  /** Writes to stdout and waits until it is gone, so that a slow reader slows the command down. */
  write(data: string | Uint8Array): Promise<void>;
  /** Writes lines to stdout. */
  print(...lines: string[]): Promise<void>;
  printJson(value: unknown): Promise<void>;
  /** Writes lines for people to stderr, where they do not disturb what stdout is piped into. */
  note(...lines: string[]): Promise<void>;
  /** Runs work on the operations and closes them whatever happens. */
  withOperations<T>(work: (operations: Operations) => Promise<T>): Promise<T>;
  /** The same for a command about one run: `reference` as RUN_ARGUMENT describes it. Throws RUN_NOT_FOUND. */
  withRun<T>(reference: string | undefined, work: (operations: Operations, runId: string) => Promise<T>): Promise<T>;
}

export function createCli(world: World): Cli {
  const { stdout, stderr, terminal } = world;
  const write = (data: string | Uint8Array) => writeTo(stdout, data);
  const cli: Cli = {
    ...world,
    paint: terminal.color.stdout ? paintColor : paintPlain,
    paintErr: terminal.color.stderr ? paintColor : paintPlain,
    exitCode: 0,
    write,
    print: (...lines) => write(lines.map((line) => `${line}\n`).join('')),
    printJson: (value) => write(`${safeJson(value)}\n`),
    note: (...lines) => writeTo(stderr, lines.map((line) => `${line}\n`).join('')),
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
