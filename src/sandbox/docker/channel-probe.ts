import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { HaloError } from '../../core/errors.ts';
import { collectText, discard } from '../../lib/sinks.ts';
import type { Mount, Sandbox, SandboxEngine } from '../sandbox.ts';
import { TRUSTED_IMAGE } from './trusted-image.ts';

type Engine = Pick<SandboxEngine, 'start'>;

/** Says what it hears at the port at which agents find their gateway. */
const LISTEN = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/4000; cat <&3'`;

/**
 * Whether a throwaway sandbox reaches who listens at a unix socket in `dir`, in which the probe makes a folder; the same
 * way and under the same runtime as agents reach their gateway.
 */
export async function canReach(engine: Engine, dir: string, runtime: string | undefined): Promise<boolean> {
  const word = randomBytes(8).toString('hex');
  const probe = join(dir, `probe-${word}`);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(word);
  });
  try {
    await mkdir(probe, { recursive: true, mode: 0o711 });
    const path = join(probe, 'gateway.sock');
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    await chmod(path, 0o666);
    const mounts: Mount[] = [{ kind: 'bind', source: probe, target: '/run/halo', readOnly: true }];
    const script = `exec /opt/halo/bin/forward 4000 /run/halo/gateway.sock -- ${LISTEN}`;
    return (await ask(engine, { mounts, script, runtime })) === word;
  } catch (error) {
    return no(error);
  } finally {
    server.close();
    await rm(probe, { recursive: true, force: true });
  }
}

/** Whether a throwaway sandbox reaches halo over the stdio of a bridge. */
export async function canBridge(engine: Engine): Promise<boolean> {
  const word = randomBytes(8).toString('hex');
  const listen = (sandbox: Sandbox) =>
    sandbox.listen({ port: 4000, accept: (connection) => connection.end(word), onLoss: () => undefined });
  try {
    return (await ask(engine, { mounts: [], script: LISTEN, listen })) === word;
  } catch (error) {
    return no(error);
  }
}

/** What the engine refuses is an answer; an engine that is away is none. */
function no(error: unknown): false {
  if (error instanceof HaloError && error.code !== 'DOCKER_FAILED') throw error;
  return false;
}

interface Question {
  mounts: Mount[];
  script: string;
  runtime?: string | undefined;
  /** Before the script runs. */
  listen?: (sandbox: Sandbox) => Promise<unknown>;
}

async function ask(engine: Engine, { mounts, script, runtime, listen }: Question): Promise<string> {
  const sandbox = await engine.start({
    image: TRUSTED_IMAGE,
    labels: { run: 'probe', storyKey: 'channel', attempt: 1, phase: 'probe' },
    user: 65_534,
    workdir: '/',
    env: {},
    mounts,
    limits: { cpus: 1, memoryBytes: 64 * 1024 * 1024, pids: 16 },
    ...(runtime === undefined ? {} : { runtime }),
  });
  try {
    await listen?.(sandbox);
    const stdout = collectText(1_000);
    const limits = { wallMs: 20_000, idleMs: 20_000, outputBytes: 10_000 };
    await sandbox.run({ script, stdout: stdout.sink, stderr: discard(), ...limits });
    return stdout.text();
  } finally {
    await sandbox.remove();
  }
}
