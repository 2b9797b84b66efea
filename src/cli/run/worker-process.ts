import { spawn } from 'node:child_process';
import type { EngineProcess } from './engine-workers.ts';

/** How much of the end of its stderr is kept. */
const KEPT_LENGTH = 4_000;

/** Starts `halo worker` for an engine as a process of its own, which also ends with this one. */
export function startWorkerProcess(engine: string): EngineProcess {
  const words = ['worker', '--engine', engine, '--attached'];
  const child = spawn(process.execPath, [process.argv[1] ?? '', ...words], {
    // Own process group, so that Ctrl-C in the terminal reaches only halo, which stops it.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => (text = (text + chunk.toString()).slice(-KEPT_LENGTH)));
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(whyEnded(code, signal, text)));
  });
  return { stop: () => void child.kill('SIGTERM'), ended };
}

function whyEnded(code: number | null, signal: string | null, stderr: string): string {
  const error = stderr.split('\n').find((line) => line.startsWith('error['));
  return error?.replace(/\.$/, '') ?? (signal === null ? `exit code ${code}` : `signal ${signal}`);
}
