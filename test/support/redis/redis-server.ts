import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../../../src/lib/async.ts';

/** A Redis of the user's, which halo did not start. */
export interface RedisServer {
  socket: string;
  url: string;
  /** Keeps what it had, unless `flags` say otherwise. */
  start(...flags: string[]): void;
  /** At this very instant. */
  kill(): Promise<void>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  close(): Promise<void>;
}

/** Starts one on a unix socket; it accepts connections when this resolves. */
export async function openRedisServer(...flags: string[]): Promise<RedisServer> {
  const dir = mkdtempSync(join(tmpdir(), 'halo-redis-'));
  const socket = join(dir, 'redis.sock');
  let server: ChildProcess;
  const start = (...more: string[]) => {
    const own = ['--port', '0', '--unixsocket', socket, '--dir', dir, '--save', '', '--appendonly', 'yes'];
    server = spawn('redis-server', [...own, ...more], { stdio: 'ignore' });
  };
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
  start(...flags);
  await untilAccepting(socket);
  return {
    socket,
    url: `unix://${socket}`,
    start,
    kill,
    signal: (name) => void server.kill(name),
    async close() {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function untilAccepting(socket: string): Promise<void> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const connection = connect(socket);
    const accepted = await once(connection, 'connect').then(
      () => true,
      () => false,
    );
    connection.destroy();
    if (accepted) return;
    await sleep(10);
  }
  throw new Error(`No Redis accepts connections at ${socket}.`);
}
