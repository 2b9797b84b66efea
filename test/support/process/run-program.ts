import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';

export interface ProgramOptions {
  cwd: string;
  /** Default: that of this process. */
  env?: Record<string, string | undefined>;
  input?: string | Buffer;
}

interface ProgramResult {
  /** Null if a signal ended it. */
  status: number | null;
  signal: string | null;
  stdout: Buffer;
  stderr: Buffer;
  /** Why it was not started. */
  error: string | undefined;
}

/**
 * Runs a program to its end and returns what it prints, like `execFileSync`, but as a child of a small process: the system
 * copies the page tables of the process that starts another one, and a process of tests has 400 MiB. The error of a program
 * that fails has its `status`, `stdout` and `stderr`.
 */
export function runProgram(program: string, args: string[], { cwd, env, input }: ProgramOptions): Buffer {
  const options = { cwd, env: { ...(env ?? process.env) }, input: input ?? '', maxBuffer: 256 * 1024 * 1024 };
  const result = ask({ program, args, options });
  if (result.status === 0) return Buffer.from(result.stdout);
  const why = result.error ?? result.stderr.toString('utf8');
  throw Object.assign(new Error(`Command failed: ${[program, ...args].join(' ')}\n${why}`), result);
}

interface Pipes {
  requests: number;
  results: number;
}

let opened: Pipes | undefined;

function ask(request: object): ProgramResult {
  const pipes = (opened ??= openPipes());
  const bytes = serialize(request);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  for (const part of [length, bytes]) for (let at = 0; at < part.length;) at += writeSync(pipes.requests, part, at);
  const result = read(pipes, Number(read(pipes, 8).readBigUInt64LE()));
  return deserialize(result) as ProgramResult;
}

function read({ results }: Pipes, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) {
    const count = readSync(results, bytes, at, length - at, null);
    if (count === 0) throw new Error('The process that runs programs has ended.');
    at += count;
  }
  return bytes;
}

/** Named pipes, because Node's own are sockets that a synchronous read does not wait for. */
function openPipes(): Pipes {
  const folder = mkdtempSync(join(tmpdir(), 'halo-pipes-'));
  const [requests, results] = [join(folder, 'requests'), join(folder, 'results')];
  execFileSync('mkfifo', [requests, results]);
  // Opened for both, a pipe does not wait for its other end.
  const both = [requests, results].map((path) => openSync(path, 'r+'));
  const [stdin, stdout] = [openSync(requests, 'r'), openSync(results, 'w')];
  const pipes = { requests: openSync(requests, 'w'), results: openSync(results, 'r') };
  const program = join(import.meta.dirname, 'run-program.mjs');
  spawn(process.execPath, [program], { stdio: [stdin, stdout, 'inherit'], env: {}, detached: true }).unref();
  // Each process notices the end of the other one.
  [...both, stdin, stdout].forEach((file) => closeSync(file));
  rmSync(folder, { recursive: true });
  return pipes;
}
