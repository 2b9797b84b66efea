import { PassThrough } from 'node:stream';
import { main } from '../../../src/cli/main.ts';
import type { Services } from '../../../src/cli/compose.ts';
import type { ProcessIo } from '../../../src/cli/process-io.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { hostOf } from '../halo/host.ts';

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  operations: Operations;
  program?: ProcessIo['program'];
  services?: Partial<Services>;
  terminal?: Partial<ProcessIo['terminal']>;
  stdin?: string;
  cwd?: string;
  /** Of the terminal. */
  columns?: number;
  /** The person at the terminal. */
  ask?: ProcessIo['ask'];
  /** Receives the way to press Ctrl-C. */
  onReady?: (pressCtrlC: () => void) => void;
}

/** Runs one command line of halo in this process, on the operations given. */
export async function runCli(words: string[], options: CliOptions): Promise<CliResult> {
  const stdout = collector();
  const stderr = collector();
  const listeners = new Set<(signal?: NodeJS.Signals) => void>();
  /** Pressed before the command listened, which a slow import can delay. */
  let isPressed = false;
  const open = () => Promise.resolve(options.operations);
  const world: ProcessIo = {
    program: options.program ?? 'halo',
    stdin: new PassThrough().end(options.stdin ?? ''),
    stdout: Object.assign(stdout.stream, { columns: options.columns ?? 100, rows: 40 }),
    stderr: stderr.stream,
    terminal: {
      drawable: false,
      shown: false,
      color: { stdout: false, stderr: false },
      debug: false,
      ...options.terminal,
    },
    cwd: options.cwd ?? '/',
    ask: options.ask,
    services: {
      readHost: () => Promise.resolve(hostOf('/halo')),
      openOperations: open,
      openLocal: () => {
        const { operations } = options;
        return Promise.resolve({
          ...operations,
          actingAs: () => operations,
          restrictedFor: () => operations,
          pingQueue: () => Promise.resolve(),
          takingWorkers: () => Promise.resolve([]),
          callRemotely: () => notHere,
          callFor: () => notHere,
          claim: () => Promise.resolve({}),
        });
      },
      recordRefusedRun: notHere,
      startWorker: notHere,
      countWorkers: notHere,
      userName: notHere,
      serveApi: notHere,
      serveMcp: notHere,
      watchRuns: notHere,
      diagnose: notHere,
      check: notHere,
      openMasker: notHere,
      openPager: () => Promise.resolve(undefined),
      editFile: notHere,
      initConfig: notHere,
      buildImage: notHere,
      pushImage: notHere,
      ...options.services,
    },
    onStop(listener) {
      listeners.add(listener);
      if (isPressed) setImmediate(() => listener('SIGINT'));
      return () => listeners.delete(listener);
    },
    sayWhenEnded: () => undefined,
    onKey: () => () => undefined,
    takeTerminal: () => undefined,
    onParentEnd: () => undefined,
    exitNow: (code) => stderr.stream.write(`[left immediately with ${code}]`),
  };
  options.onReady?.(() => {
    isPressed = listeners.size === 0;
    for (const listener of [...listeners]) listener('SIGINT');
  });
  const code = await main(words, world);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function notHere(): Promise<never> {
  return Promise.reject(new Error('this test has no such service'));
}

function collector() {
  const stream = new PassThrough();
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
