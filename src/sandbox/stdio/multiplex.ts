import { once } from 'node:events';
import type { Duplex, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Carried, type Wire } from './virtual-socket.ts';
import { encodeFrame, MAX_DATA_BYTES, PROTOCOL_VERSION, readFrames, type Frame } from './frames.ts';

/** Most connections at once, those that are closing included: the bridge itself has at most half as many. */
const MAX_CONNECTIONS = 256;
/** More is not kept for a bridge that does not read what it is sent. */
const MAX_UNSENT_BYTES = 256 * 1024;

/** After so many frames, everything else that the worker does gets its turn. */
const FRAMES_PER_TURN = 256;

/** The streams of the bridge, as halo sees them. */
export interface Stdio {
  from: AsyncIterable<Buffer>;
  to: Writable;
}

/**
 * Carries the connections of a bridge over its stdin and stdout until that ends, and answers with the reason; no
 * connection is open then. `listening` is called once, when the bridge accepts. The bridge is a program in a sandbox, and
 * may have been replaced by a hostile one: what it can make halo keep is a window for each of 256 connections, and a
 * frame that makes no sense ends it.
 */
export async function multiplex(
  stdio: Stdio,
  { listening, accept }: { listening: () => void; accept: (connection: Duplex) => void },
): Promise<string> {
  const connections = new Map<number, Carried>();
  const wire = openWire(stdio.to, connections);
  let last = 0;
  let turn = 0;
  let freed = ignore;
  const open = async (id: number) => {
    if (id !== last + 1) throw new Error('connections are not counted one by one');
    last = id;
    // Those that are closing need a moment; who really has so many waits for one of them to end.
    while (connections.size >= MAX_CONNECTIONS) await new Promise<void>((resolve) => (freed = resolve));
    const connection = new Carried(id, wire);
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
      throw new Error('it does not say hello');
    listening();
    for await (const frame of frames) {
      if (frame.type === 'open') await open(frame.id);
      else if (frame.id === 0 || frame.id > last) throw new Error('a frame for no connection');
      else obey(connections.get(frame.id), frame);
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

/** A connection that is not there any more may still be told something: that was under way when it went. */
function obey(connection: Carried | undefined, { type, value, bytes }: Frame): void {
  switch (type) {
    case 'data':
      if (bytes !== undefined) connection?.takeData(bytes);
      else if (value === 0 || value > MAX_DATA_BYTES) throw new Error('data of a wrong size');
      return;
    case 'credit':
      return connection?.grant(value);
    case 'end':
      return connection?.takeEnd();
    case 'reset':
      return connection?.takeReset();
    default:
      throw new Error(`a frame of type ${type} out of place`);
  }
}

function openWire(to: Writable, connections: ReadonlyMap<number, Carried>): Wire {
  let clogged = false;
  const write = (bytes: Buffer) => {
    if (!to.destroyed && to.writable && !to.write(bytes)) clogged = true;
  };
  to.on('error', ignore);
  // Nothing waits for a wire that is gone.
  to.once('close', () => {
    for (const connection of connections.values()) connection.destroy();
  });
  to.on('drain', () => {
    clogged = false;
    for (const connection of connections.values()) connection.pump();
  });
  return {
    ready: () => !clogged,
    data: (id, bytes) => {
      write(encodeFrame('data', id, bytes.length));
      write(bytes);
    },
    tell: (type, id, value) => write(encodeFrame(type, id, value)),
  };
}

async function untilWritten(to: Writable): Promise<void> {
  if (to.destroyed) throw new Error('it ended');
  const done = new AbortController();
  const { signal } = done;
  await Promise.race([once(to, 'drain', { signal }), once(to, 'close', { signal })]).finally(() => done.abort());
}

function ignore(): void {}
