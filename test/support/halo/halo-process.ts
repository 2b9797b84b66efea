import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { addProbeResults } from '../suite/probed-engine.ts';
import { removeSnapshots } from './remove-snapshots.ts';

const BIN = resolve(import.meta.dirname, '../../../bin/halo');

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A `halo` command line as a process of its own. */
export interface HaloProcess {
  process: ChildProcess;
  /** What came so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves as soon as stdout and stderr together hold the text. Rejects when the process ends without it. */
  says(text: string): Promise<void>;
  ended: Promise<Ended>;
}

export interface Start {
  cwd: string;
  env?: Record<string, string | undefined>;
  /** A command that executes another one, to start it elsewhere, such as in a network namespace. */
  via?: string[];
}

/** A HALO_HOME of its own for real processes. */
export interface HaloHome {
  dir: string;
  /** The ids of its runs, oldest first, without folders of runs that are being created. */
  runIds(): string[];
  start(words: string[], options: Start): HaloProcess;
  /** Starts it and waits for its end. */
  halo(words: string[], options: Start): Promise<Ended>;
  /** Kills whatever still runs. */
  kill(): Promise<void>;
  /** Ends whatever still runs, and removes the folder. */
  close(): Promise<void>;
}

/** A new one in `parent`. */
export function openHome(parent = tmpdir()): HaloHome {
  const dir = mkdtempSync(join(parent, 'halo-home-'));
  addProbeResults(dir);
  const running = new Set<HaloProcess>();
  const start = (words: string[], options: Start): HaloProcess => {
    const started = startHalo(words, { ...options, env: { HALO_HOME: dir, ...options.env } });
    running.add(started);
    void started.ended.finally(() => running.delete(started));
    return started;
  };
  const runs = join(dir, 'runs');
  return {
    dir,
    runIds: () =>
      existsSync(runs)
        ? readdirSync(runs)
            .filter((name) => !name.startsWith('.'))
            .sort()
        : [],
    start,
    halo: (words, options) => start(words, options).ended,
    kill: () => endAll(running, 'SIGKILL'),
    async close() {
      await endAll(running, 'SIGTERM');
      if (existsSync(join(dir, 'snapshots'))) await removeSnapshots(dir);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function endAll(running: ReadonlySet<HaloProcess>, signal: NodeJS.Signals): Promise<void> {
  const rest = [...running];
  for (const { process } of rest) process.kill(signal);
  await Promise.all(rest.map(({ ended }) => ended));
}

/** Nothing of the surroundings may decide where halo works. */
export const NOT_INHERITED = {
  HALO_URL: undefined,
  HALO_TOKEN: undefined,
  HALO_REDIS_URL: undefined,
  OPENAI_API_KEY: undefined,
};

function startHalo(words: string[], { cwd, env, via = [] }: Start): HaloProcess {
  const [program = '', ...args] = [...via, process.execPath, BIN, ...words];
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...NOT_INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const stdout = () => Buffer.concat(out).toString();
  const stderr = () => Buffer.concat(err).toString();
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout: stdout(),
    stderr: stderr(),
  }));
  return {
    process: child,
    stdout,
    stderr,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (`${stdout()}\n${stderr()}`.includes(text)) resolve();
        };
        child.stdout.on('data', look);
        child.stderr.on('data', look);
        child.on('close', () => reject(new Error(`halo ended without saying ${text}:\n${stdout()}${stderr()}`)));
        look();
      }),
  };
}
