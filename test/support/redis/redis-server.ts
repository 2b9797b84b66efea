import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

/** Starts one on a unix socket. */
export function openRedisServer(...flags: string[]): RedisServer {
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
