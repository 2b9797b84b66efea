import { once } from 'node:events';
import type { Duplex, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { VirtualSocket, type FrameSender } from './virtual-socket.ts';
import { encodeFrame, MAX_DATA_BYTES, PROTOCOL_VERSION, readFrames, type Frame } from './frames.ts';
import { ignore } from '../../lib/async.ts';

/** Maximum number of connections, including closing ones; the bridge itself has at most half as many. */
const MAX_CONNECTIONS = 256;
/** Maximum number of bytes buffered for a bridge that does not read. */
const MAX_UNSENT_BYTES = 256 * 1024;

/** Number of frames after which other work of the worker gets a turn. */
const FRAMES_PER_TURN = 256;

/** The streams of the bridge, as halo sees them. */
export interface Stdio {
  from: AsyncIterable<Buffer>;
  to: Writable;
}

/**
 * Multiplexes the connections of a bridge over its stdin and stdout. Resolves to the reason when it ends; all connections
 * are closed then. `listening` is called once, when the bridge accepts connections. The bridge runs in a sandbox and may
 * have been replaced by a hostile program: halo buffers at most one window for each of 256 connections, and an invalid
 * frame ends the multiplexing.
 */
export async function multiplex(
  stdio: Stdio,
  { listening, accept }: { listening: () => void; accept: (connection: Duplex) => void },
): Promise<string> {
  const connections = new Map<number, VirtualSocket>();
  const sender = openFrameSender(stdio.to, connections);
  let last = 0;
  let turn = 0;
  let freed: () => void = ignore;
  const open = async (id: number) => {
    if (id !== last + 1) throw new Error('connections are not counted one by one');
    last = id;
    // Closing connections free their place soon; wait for one of them.
    while (connections.size >= MAX_CONNECTIONS) await new Promise<void>((resolve) => (freed = resolve));
    const connection = new VirtualSocket(id, sender);
    connections.set(id, connection);
    connection.on('error', ignore);
    connection.once('close', () => {
      connections.delete(id);
      freed();
    });
    accept(connection);
  };
  try {
    const frames = readFrames(stdio.from);
    const first = await frames.next();
    if (first.done === true) throw new Error('it ended before it listened');
    if (first.value.type !== 'hello' || first.value.value !== PROTOCOL_VERSION)
      throw new Error('it does not send hello');
    listening();
    for await (const frame of frames) {
      if (frame.type === 'open') await open(frame.id);
      else if (frame.id === 0 || frame.id > last) throw new Error('a frame for no connection');
      else handleFrame(connections.get(frame.id), frame);
      if (stdio.to.writableLength > MAX_UNSENT_BYTES) await untilWritten(stdio.to);
      if (++turn % FRAMES_PER_TURN === 0) await setImmediate();
    }
    return 'it ended';
  } catch (error) {
    return (error as Error).message;
  } finally {
    stdio.to.destroy();
    for (const connection of connections.values()) connection.destroy();
  }
}

/** Handles a frame; frames for a closed connection, which were sent before it was closed, are ignored. */
function handleFrame(connection: VirtualSocket | undefined, { type, value, bytes }: Frame): void {
  switch (type) {
    case 'data':
      if (bytes !== undefined) connection?.takeData(bytes);
      else if (value === 0 || value > MAX_DATA_BYTES) throw new Error('data of a wrong size');
      return;
    case 'credit':
      return connection?.addCredit(value);
    case 'end':
      return connection?.takeEnd();
    case 'reset':
      return connection?.takeReset();
    default:
      throw new Error(`unexpected frame of type ${type}`);
  }
}

function openFrameSender(to: Writable, connections: ReadonlyMap<number, VirtualSocket>): FrameSender {
  let clogged = false;
  const write = (bytes: Buffer) => {
    if (!to.destroyed && to.writable && !to.write(bytes)) clogged = true;
  };
  to.on('error', ignore);
  // Without a sender, pending writes never finish.
  to.once('close', () => {
    for (const connection of connections.values()) connection.destroy();
  });
  to.on('drain', () => {
    clogged = false;
    for (const connection of connections.values()) connection.pump();
  });
  return {
    ready: () => !clogged,
    sendData: (id, bytes) => {
      write(encodeFrame('data', id, bytes.length));
      write(bytes);
    },
    send: (type, id, value) => write(encodeFrame(type, id, value)),
  };
}

async function untilWritten(to: Writable): Promise<void> {
  if (to.destroyed) throw new Error('it ended');
  const done = new AbortController();
  const { signal } = done;
  await Promise.race([once(to, 'drain', { signal }), once(to, 'close', { signal })]).finally(() => done.abort());
}
