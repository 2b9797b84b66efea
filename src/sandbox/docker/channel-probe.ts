import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { createFolders, ensurePrivateFolder } from '../../lib/fs.ts';
import { processMark } from '../../lib/process-identity.ts';
import { runOneOffSandbox } from '../one-off-sandbox.ts';
import { makeOutputPipe, openPipeReader, type PipeReader } from '../output-pipe.ts';
import type { Mount, Sandbox, SandboxEngine } from '../sandbox.ts';
import { isEngineResponse } from './docker-client.ts';

type Engine = Pick<SandboxEngine, 'start'>;

/** The probe of a pipe can block on machines where containers have another kernel. */
const PIPE_SECONDS = 5;

/** Prints what it receives from the port of the gateway. */
const LISTEN = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/4000; cat <&3'`;

/**
 * Whether a one-off sandbox can connect to a unix socket in a new folder below `dir`, in the same way and under the same
 * runtime as agents connect to the gateway; and whether it can write to a named pipe there.
 */
export async function canReach(
  engine: Engine,
  dir: string,
  runtime: string | undefined,
): Promise<{ socket: boolean; pipe: boolean }> {
  const word = randomBytes(8).toString('hex');
  // The length of a socket path is limited.
  const probe = join(dir, `probe-${processMark()}-${word.slice(0, 6)}`);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(word);
  });
  let pipe: PipeReader | undefined;
  try {
    await ensurePrivateFolder(dir);
    await mkdir(probe, { mode: 0o711 });
    const path = join(probe, 'gateway.sock');
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    await chmod(path, 0o666);
    pipe = await openProbePipe(join(probe, 'output'));
    const mounts: Mount[] = [{ kind: 'bind', source: probe, target: '/run/halo', readOnly: true }];
    const write = `timeout ${PIPE_SECONDS} sh -c 'printf ${word} > /run/halo/output'`;
    const script = `/opt/halo/bin/forward 4000 /run/halo/gateway.sock -- ${LISTEN} && ${write} || true`;
    const { text } = await runOneOffSandbox(engine, { purpose: 'channel', mounts, script, runtime });
    pipe?.release();
    const isWritten = pipe !== undefined && text === word && (await readAll(pipe.chunks)) === word;
    return { socket: text === word, pipe: isWritten };
  } catch (error) {
    no(error);
    return { socket: false, pipe: false };
  } finally {
    pipe?.destroy();
    server.close();
    await rm(probe, { recursive: true, force: true });
  }
}

/** Undefined where the file system has no named pipes. */
async function openProbePipe(path: string): Promise<PipeReader | undefined> {
  try {
    await makeOutputPipe(path);
    return openPipeReader(path);
  } catch {
    return undefined;
  }
}

async function readAll(chunks: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += chunk.toString('latin1');
  return text;
}

/** Whether a one-off sandbox can connect to halo through the stdio of a bridge. */
export async function canBridge(engine: Engine): Promise<boolean> {
  const word = randomBytes(8).toString('hex');
  const listen = (sandbox: Sandbox) =>
    sandbox.listen({ port: 4000, accept: (connection) => connection.end(word), onLoss: () => undefined });
  try {
    return (await runOneOffSandbox(engine, { purpose: 'channel', script: LISTEN, listen })).text === word;
  } catch (error) {
    return no(error);
  }
}

/** Returns false if the engine rejected the request; rethrows if the engine is unavailable. */
function no(error: unknown): false {
  if (error instanceof HaloError && !isEngineResponse(error)) throw error;
  return false;
}

/** Whether a one-off sandbox can read a new file in `dir`; it cannot if the engine runs on another machine. */
export async function canMount(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<boolean> {
  const secret = randomBytes(8).toString('hex');
  const probe = join(dir, `probe-${processMark()}-${secret}`);
  await createFolders(dir, 0o700);
  await mkdir(probe);
  try {
    await writeFile(join(probe, 'secret'), secret, { mode: 0o644 });
    return (await readThroughSandbox(engine, probe)) === secret;
  } catch (error) {
    if (isEngineResponse(error)) return false;
    throw error;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

async function readThroughSandbox(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<string> {
  const mounts: Mount[] = [{ kind: 'bind', source: dir, target: '/mnt', readOnly: true }];
  return (await runOneOffSandbox(engine, { purpose: 'mount', mounts, script: 'cat /mnt/secret', wallMs: 10_000 })).text;
}
