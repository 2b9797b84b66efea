import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { vi } from 'vitest';
import { PROGRAM_AGENTS } from '../agent-ids.ts';
import { PATIENCE } from '../patience.ts';

/** A second Docker Engine for one test, with halo's image in it. Faults in it do not affect other tests. */
export interface TestEngine {
  /** As DOCKER_HOST has it. */
  host: string;
  socket: string;
  docker: Docker;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** Ends the engine, not its containers: what becomes of them is for the engine to say. */
  stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Removes everything of it. */
  close(): Promise<void>;
}

/** Why this machine cannot run a second engine. */
export interface NoEngine {
  missing: string;
}

interface EngineOptions {
  liveRestore?: boolean | undefined;
  /** Without any image. */
  bare?: boolean;
  /** The URL of a registry that is asked first. */
  mirror?: string;
}

/** halo's image without the agents, which no test here starts: a fourth of its size. Node is halo's own, too. */
const SLIM = [...PROGRAM_AGENTS.map((name) => `--exclude=./opt/halo/agents/${name}`), '--exclude=./usr/share'];
const AS_BUILT = ['WORKDIR /workspace', 'CMD ["bash"]', 'ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'];

/** The only reasons for which a machine may have no second engine: the error, and what is missing. */
const UNAVAILABLE: [error: RegExp, missing: string][] = [
  [/spawn (?:dockerd|containerd) ENOENT/, 'needs dockerd and containerd'],
  [/needs to be started with root|^containerd: .*(?:operation not permitted|permission denied)/m, 'needs root'],
  [/failed to start (?:daemon|containerd).*(?:operation not permitted|permission denied)/i, 'needs the right to mount'],
];

/**
 * Starts an engine with folders, socket and containerd of its own: it takes root and a kernel that lets it. It shares the
 * default bridge with the engine of the machine, because one that starts with `--bridge none` deletes docker0. Its networks come from a pool of two. Throws, unless the reason is one of `UNAVAILABLE`.
 */
export async function openEngine(options: EngineOptions = {}): Promise<TestEngine | NoEngine> {
  const dir = mkdtempSync(join(tmpdir(), 'halo-engine-'));
  const engine = describeEngine(dir, options);
  try {
    await engine.start();
  } catch (error) {
    await engine.close();
    const [, missing] = UNAVAILABLE.find(([pattern]) => pattern.test(String(error))) ?? [];
    if (missing === undefined) throw error;
    return { missing };
  }
  if (options.bare === true) return engine;
  const changes = AS_BUILT.map((change) => `-c '${change}'`).join(' ');
  const pack = `docker run --rm --network none --user 0 --entrypoint tar halo-sandbox -C / --one-file-system ${SLIM.join(' ')} -cf - .`;
  execFileSync(
    'bash',
    ['-o', 'pipefail', '-c', `${pack} | docker -H ${engine.host} import ${changes} - halo-sandbox`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  return engine;
}

function describeEngine(dir: string, { liveRestore = false, mirror }: EngineOptions): TestEngine {
  const socket = join(dir, 'docker.sock');
  const host = `unix://${socket}`;
  const docker = new Docker({ socketPath: socket });
  const containerd = startProgram(dir, 'containerd', [
    ...['--root', join(dir, 'containerd'), '--state', join(dir, 'containers')],
    ...['--address', join(dir, 'containerd.sock'), '--config', '/dev/null'],
  ]);
  // Its own among tests that run at the same time.
  const pool = `base=10.232.${process.pid % 256}.0/29,size=30`;
  let dockerd: Program | undefined;
  const start = async () => {
    const started = startProgram(dir, 'dockerd', [
      ...['--host', host, '--data-root', join(dir, 'data'), '--exec-root', join(dir, 'exec')],
      ...['--pidfile', join(dir, 'docker.pid'), '--containerd', join(dir, 'containerd.sock')],
      ...['--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false'],
      ...['--default-address-pool', pool, ...(liveRestore ? ['--live-restore'] : [])],
      ...(mirror === undefined ? [] : ['--registry-mirror', mirror]),
    ]);
    dockerd = started;
    const isGone = () => started.gone() || containerd.gone();
    await vi.waitUntil(async () => isGone() || (await answers(docker)), PATIENCE);
    if (isGone())
      throw started.error() ?? containerd.error() ?? new Error(readFileSync(join(dir, 'log'), 'utf8').slice(-2_000));
  };
  return {
    host,
    socket,
    docker,
    start,
    stop: async (signal) => dockerd?.stop(signal),
    close: async () => {
      if (dockerd?.gone()) await start().catch(() => undefined);
      if (await answers(docker)) {
        for (const { Id } of await docker.listContainers({ all: true }))
          await docker.getContainer(Id).remove({ force: true, v: true });
        for (const { Id, Name, Driver } of await docker.listNetworks())
          if (Driver === 'bridge' && Name !== 'bridge') await docker.getNetwork(Id).remove();
      }
      await dockerd?.stop('SIGTERM');
      await containerd.stop('SIGTERM');
      for (const mounted of mountsBelow(dir)) execFileSync('umount', ['--lazy', mounted]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

interface Program {
  gone(): boolean;
  /** Why it could not be started. */
  error(): Error | undefined;
  /** Resolves when it has ended. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

function startProgram(dir: string, program: string, args: string[]): Program {
  const log = openSync(join(dir, 'log'), 'a');
  const child = spawn(program, args, { stdio: ['ignore', log, log] });
  closeSync(log);
  let gone = false;
  let error: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      gone = true;
      resolve();
    };
    child.once('error', (cause) => {
      error = cause;
      end();
    });
    child.once('exit', end);
  });
  return {
    gone: () => gone,
    error: () => error,
    stop: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

async function answers(docker: Docker): Promise<boolean> {
  return docker.ping().then(
    () => true,
    () => false,
  );
}

/** The deepest first. */
function mountsBelow(dir: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts
    .flatMap((line) => line.split(' ')[1] ?? [])
    .filter((path) => path.startsWith(`${dir}/`))
    .reverse();
}
