import { connect, type Socket } from 'node:net';

/** How long a server that has answered must be silent before its answer counts as complete. */
const QUIET_MS = 100;

/**
 * Sends bytes to a gateway's socket as they are, and returns everything that comes back until the connection ends or the
 * server falls silent. The first byte may take any time: a client that gives up when a busy machine stalls would miss
 * the answer that is already due.
 */
export async function sendRaw(socketPath: string, bytes: string | Buffer): Promise<string> {
  const socket = await openRaw(socketPath);
  const answer = readUntilQuiet(socket);
  socket.write(bytes);
  return answer;
}

export function openRaw(socketPath: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

function readUntilQuiet(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.on('timeout', () => {
      // After the process has stalled, the timer fires before the bytes that have come meanwhile are read.
      const { length } = text;
      setImmediate(() => (text.length === length ? end() : undefined));
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      socket.setTimeout(QUIET_MS);
    });
    socket.on('close', end);
    socket.on('error', end);
  });
}
