import { Duplex } from 'node:stream';
import { MAX_DATA_BYTES, WINDOW_BYTES } from './frames.ts';

/** Sends frames of a virtual socket; every function may be called after the sender was closed, and then does nothing. */
export interface FrameSender {
  /** Whether data can be sent now; if not, `pump` is called when it can. */
  ready(): boolean;
  sendData(id: number, bytes: Buffer): void;
  send(type: 'end' | 'reset' | 'credit', id: number, value?: number): void;
}

/**
 * halo's end of a connection from a sandbox. It works as a socket for Node's HTTP server: it has a timeout and
 * `destroySoon`. Buffers at most one window of received data and one chunk of data to send.
 */
export class VirtualSocket extends Duplex {
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
