import { connect, type Socket } from 'node:net';

/** Sends bytes to a gateway's socket as they are, and gives everything that came back until it ends or falls silent. */
export async function sendRaw(socketPath: string, bytes: string | Buffer, quietMs = 300): Promise<string> {
  const socket = await openRaw(socketPath);
  const answer = readUntilQuiet(socket, quietMs);
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

function readUntilQuiet(socket: Socket, quietMs: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(quietMs, end);
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('close', end);
    socket.on('error', end);
  });
}
