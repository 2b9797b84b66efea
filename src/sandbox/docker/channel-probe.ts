import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { makePrivateFolder } from '../../lib/private-folder.ts';
import { markProcess } from '../../lib/process-identity.ts';
import type { Mount, Sandbox, SandboxEngine } from '../sandbox.ts';
import { askSandbox } from '../one-off-sandbox.ts';
import { isAnswer } from './docker-errors.ts';

type Engine = Pick<SandboxEngine, 'start'>;

/** Says what it hears at the port at which agents find their gateway. */
const LISTEN = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/4000; cat <&3'`;

/**
 * Whether a throwaway sandbox reaches who listens at a unix socket in `dir`, in which the probe makes a folder; the same
 * way and under the same runtime as agents reach their gateway.
 */
export async function canReach(engine: Engine, dir: string, runtime: string | undefined): Promise<boolean> {
  const word = randomBytes(8).toString('hex');
  // The path of a socket may only be so long.
  const probe = join(dir, `probe-${markProcess()}-${word.slice(0, 6)}`);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(word);
  });
  try {
    await makePrivateFolder(dir);
    await mkdir(probe, { mode: 0o711 });
    const path = join(probe, 'gateway.sock');
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    await chmod(path, 0o666);
    const mounts: Mount[] = [{ kind: 'bind', source: probe, target: '/run/halo', readOnly: true }];
    const script = `exec /opt/halo/bin/forward 4000 /run/halo/gateway.sock -- ${LISTEN}`;
    return (await askSandbox(engine, { about: 'channel', mounts, script, runtime })).text === word;
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
    return (await askSandbox(engine, { about: 'channel', script: LISTEN, listen })).text === word;
  } catch (error) {
    return no(error);
  }
}

/** What the engine refuses is an answer; an engine that is away is none. */
function no(error: unknown): false {
  if (error instanceof HaloError && !isAnswer(error)) throw error;
  return false;
}
