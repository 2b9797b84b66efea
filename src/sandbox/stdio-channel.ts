import { once } from 'node:events';
import { Duplex, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { ignore } from '../lib/async.ts';

/** Maximum number of connections, including closing ones; the bridge itself has at most half as many. */
const MAX_CONNECTIONS = 256;
/** Maximum number of bytes buffered for a bridge that does not read. */
const MAX_UNSENT_BYTES = 256 * 1024;

/** Number of frames after which other work of the worker gets a turn. */
const FRAMES_PER_TURN = 256;

/** The streams of the bridge, as halo sees them. */
interface Stdio {
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

/** Sends frames of a virtual socket; every function may be called after the sender was closed, and then does nothing. */
interface FrameSender {
  /** Whether data can be sent now; if not, `pump` is called when it can. */
  ready(): boolean;
  sendData(id: number, bytes: Buffer): void;
  send(type: 'end' | 'reset' | 'credit', id: number, value?: number): void;
}

/**
 * halo's end of a connection from a sandbox. It works as a socket for Node's HTTP server: it has a timeout and
 * `destroySoon`. Buffers at most one window of received data and one chunk of data to send.
 */
class VirtualSocket extends Duplex {
  private readonly id: number;
  private readonly sender: FrameSender;
  /** Number of bytes that the peer still accepts. */
  private credit = WINDOW_BYTES;
  /** Number of received bytes without credit; those that were not read yet are in `inbox`. */
  private received = 0;
  private inbox: Buffer | undefined;
  private waiting = 0;
  private wanted = false;
  private unsent: { bytes: Buffer; done: (error?: Error | null) => void } | undefined;
  private ended = { here: false, there: false, reset: false };
  private idle: NodeJS.Timeout | undefined;

  constructor(id: number, sender: FrameSender) {
    // One chunk at a time: with many tiny ones the overhead would exceed the data.
    super({ allowHalfOpen: true, readableHighWaterMark: 1 });
    this.id = id;
    this.sender = sender;
  }

  /** Receives data from the sandbox. Throws when it exceeds the window. */
  takeData(bytes: Buffer): void {
    this.received += bytes.length;
    if (this.ended.there) throw new Error('data after its end');
    if (this.received > WINDOW_BYTES) throw new Error('more data than was asked for');
    if (this.destroyed) return;
    this.active();
    if (this.wanted) {
      // A copy, because a slice would keep the whole chunk in memory.
      this.wanted = false;
      this.push(Buffer.from(bytes));
    } else {
      this.inbox ??= Buffer.allocUnsafeSlow(WINDOW_BYTES);
      this.waiting += bytes.copy(this.inbox, this.waiting);
    }
    this.giveCredit();
  }

  /** Receives credit from the sandbox. Throws when it exceeds the window. */
  addCredit(bytes: number): void {
    if (bytes === 0 || this.credit + bytes > WINDOW_BYTES) throw new Error('credit for what was not sent');
    this.credit += bytes;
    this.pump();
  }

  takeEnd(): void {
    if (this.ended.there) throw new Error('two ends');
    this.ended.there = true;
    if (!this.destroyed && this.waiting === 0) this.push(null);
  }

  takeReset(): void {
    this.ended.reset = true;
    this.destroy();
  }

  /** Sends pending data as far as credit and sender allow. */
  pump(): void {
    while (this.unsent !== undefined && this.credit > 0 && this.sender.ready()) {
      const { bytes, done } = this.unsent;
      const part = bytes.subarray(0, Math.min(this.credit, MAX_DATA_BYTES));
      this.credit -= part.length;
      this.sender.sendData(this.id, part);
      this.active();
      const rest = bytes.subarray(part.length);
      if (rest.length > 0) {
        this.unsent = { bytes: rest, done };
        continue;
      }
      this.unsent = undefined;
      done();
    }
  }

  /** As a socket's: emits `timeout` after `ms` without data; 0 disables it. */
  setTimeout(ms: number, listener?: () => void): this {
    clearTimeout(this.idle);
    this.idle = ms > 0 && !this.destroyed ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined;
    if (listener !== undefined) this.once('timeout', listener);
    return this;
  }

  /** As a socket's: destroys it after all data was written. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  override _read(): void {
    if (this.inbox !== undefined && this.waiting > 0) {
      const bytes = this.inbox.subarray(0, this.waiting);
      this.inbox = undefined;
      this.waiting = 0;
      this.push(bytes);
      if (this.ended.there) this.push(null);
    } else {
      this.wanted = true;
    }
    this.giveCredit();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (bytes.length === 0) return done();
    this.unsent = { bytes, done };
    this.pump();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.ended.here = true;
    this.sender.send('end', this.id);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.idle);
    const { here, there, reset } = this.ended;
    if (!reset && !(here && there)) this.sender.send('reset', this.id);
    this.unsent?.done(error ?? new Error('the connection was closed'));
    this.unsent = undefined;
    done(error);
  }

  private giveCredit(): void {
    const taken = this.received - this.waiting - this.readableLength;
    if (this.destroyed || taken < WINDOW_BYTES / 4) return;
    this.received -= taken;
    this.sender.send('credit', this.id, taken);
  }

  private active(): void {
    this.idle?.refresh();
  }
}

/** Frame types of the protocol between `bridge` and halo; `docker/sandbox/bridge.c` documents each. */
const FRAME = { hello: 1, open: 2, data: 3, end: 4, reset: 5, credit: 6 } as const;
type FrameType = keyof typeof FRAME;

const PROTOCOL_VERSION = 1;
/** Flow-control window of one connection and direction, in bytes. */
const WINDOW_BYTES = 256 * 1024;
/** Maximum number of bytes in one frame. */
const MAX_DATA_BYTES = 32 * 1024;

const HEADER_BYTES = 8;
const NAMES = new Map<number, FrameType>((Object.keys(FRAME) as FrameType[]).map((name) => [FRAME[name], name]));

/** A frame. For `data`, the first one announces `value` bytes, and one or more with `bytes` follow. */
interface Frame {
  type: FrameType;
  value: number;
  id: number;
  bytes?: Buffer;
}

export function encodeFrame(type: FrameType, id: number, value = 0): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32BE(FRAME[type] * 0x100_0000 + value, 0);
  header.writeUInt32BE(id, 4);
  return header;
}

/**
 * Parses frames from untrusted bytes. Does not buffer data: each chunk is yielded when it arrives. Throws for an unknown
 * type, and when the stream ends inside a frame.
 */
async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame, void, void> {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let data: Frame | undefined;
  let left = 0;
  for await (const chunk of source) {
    let at = 0;
    while (at < chunk.length) {
      if (data !== undefined && left > 0) {
        const bytes = chunk.subarray(at, at + left);
        at += bytes.length;
        left -= bytes.length;
        yield { ...data, bytes };
        continue;
      }
      const taken = chunk.copy(header, headerBytes, at, at + HEADER_BYTES - headerBytes);
      at += taken;
      headerBytes += taken;
      if (headerBytes < HEADER_BYTES) continue;
      headerBytes = 0;
      const frame = decodeHeader(header);
      if (frame.type === 'data') {
        data = frame;
        left = frame.value;
      }
      yield frame;
    }
  }
  if (left > 0 || headerBytes > 0) throw new Error('the stream ended inside a frame');
}

function decodeHeader(header: Buffer): Frame {
  const first = header.readUInt32BE(0);
  const type = NAMES.get(first >>> 24);
  if (type === undefined) throw new Error(`unknown frame type ${first >>> 24}`);
  return { type, value: first & 0xff_ffff, id: header.readUInt32BE(4) };
}
