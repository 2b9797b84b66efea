import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSync } from 'esbuild';
import { CANNOT_RUN } from './api.ts';
import { HALO_IMAGE } from '../../../src/sandbox/docker/image/image-recipe.ts';
import { fastFolder } from '../suite/fast-folder.ts';
import { removeFolder, tmpOf } from './remove-folder.ts';

const FOLDER = import.meta.dirname;
const CACHE = resolve(FOLDER, '../../../node_modules/.cache/halo-light-engine');
const START_MS = 60_000;

/** A running light engine (server.ts). */
export interface LightEngine {
  /** As DOCKER_HOST has it. */
  host: string;
  /** A folder for the files of tests, in memory if there is room; it ends with the engine. */
  tmp: string;
  /** Ends it with all of its containers. */
  stop(): Promise<void>;
}

/** The engine has a fault: the tests must not use Docker instead, with which they pass and take several times as long. */
export class BrokenEngineError extends Error {}

/** Starts an engine beside the machine's Docker Engine, from whose images it starts containers. Throws where it cannot run. */
export async function startLightEngine(): Promise<LightEngine> {
  const program = buildProgram();
  const dir = mkdtempSync(join(tmpdir(), 'halo-'));
  const tmp = tmpOf(dir);
  mkdirSync(tmp);
  chmodSync(tmp, 0o1777);
  // Not the folder in memory itself: halo mounts nothing of /dev into a sandbox. The volumes are not in memory, because a
  // sandbox would pay for them with its own.
  if (fastFolder() !== undefined) execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'halo-tests', tmp]);
  const server = bundleServer(dir);
  const engineSocket = (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace('unix://', '');
  const running = spawn(process.execPath, [server, dir, engineSocket, program, HALO_IMAGE], {
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
  const socket = join(dir, 'docker.sock');
  const giveUp = Date.now() + START_MS;
  while (!existsSync(socket)) {
    if (running.exitCode === null && Date.now() < giveUp) await sleep(5);
    else if (running.exitCode !== null && running.exitCode !== CANNOT_RUN)
      throw new BrokenEngineError('The light engine of the tests (test/support/light-engine) ended with a fault.');
    else {
      running.kill();
      removeFolder(dir);
      throw new Error('it does not start');
    }
  }
  return {
    host: `unix://${socket}`,
    tmp,
    stop: async () => {
      running.stdin.end();
      await ended;
      removeFolder(dir);
    },
  };
}

/** sandbox.c as a static program, once for each version of the source. */
function buildProgram(): string {
  const source = join(FOLDER, 'sandbox.c');
  const program = join(CACHE, `sandbox-${hash(readFileSync(source))}`);
  if (existsSync(program)) return program;
  mkdirSync(CACHE, { recursive: true });
  const built = `${program}.${process.pid}`;
  execFileSync('gcc', ['-std=gnu11', '-Wall', '-Wextra', '-Werror', '-O2', '-static', '-s', '-o', built, source]);
  renameSync(built, program);
  return program;
}

/** server.ts with its imports as one file, because Node 20 executes no TypeScript. */
function bundleServer(dir: string): string {
  const outfile = join(dir, 'server.cjs');
  buildSync({
    entryPoints: [join(FOLDER, 'server.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    loader: { '.node': 'empty' },
    logLevel: 'error',
  });
  return outfile;
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
