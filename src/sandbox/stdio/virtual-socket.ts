import { Duplex } from 'node:stream';
import { MAX_DATA_BYTES, WINDOW_BYTES } from './frames.ts';

/** How a carried connection sends; every function may be called after the wire broke, and then does nothing. */
export interface Wire {
  /** Whether more data can be sent now; when not, `pump` is called once it can. */
  ready(): boolean;
  data(id: number, bytes: Buffer): void;
  tell(type: 'end' | 'reset' | 'credit', id: number, value?: number): void;
}

/**
 * The near end of a connection that a sandbox made. It looks like a socket to Node's HTTP server: with a timeout and
 * `destroySoon`. Holds at most a window of what came and one chunk of what is to be sent.
 */
export class Carried extends Duplex {
  private readonly id: number;
  private readonly wire: Wire;
  /** Bytes that the other side still takes. */
  private credit = WINDOW_BYTES;
  /** Bytes that came for which it got no credit yet; those of them that nobody wanted yet lie in `inbox`. */
  private received = 0;
  private inbox: Buffer | undefined;
  private waiting = 0;
  private wanted = false;
  private unsent: { bytes: Buffer; done: (error?: Error | null) => void } | undefined;
  private ended = { here: false, there: false, reset: false };
  private idle: NodeJS.Timeout | undefined;

  constructor(id: number, wire: Wire) {
    // One piece at a time: of many tiny ones, what they cost besides their bytes would be the larger part.
    super({ allowHalfOpen: true, readableHighWaterMark: 1 });
    this.id = id;
    this.wire = wire;
  }

  /** Takes in what came from the sandbox. Throws when it sent more than it may. */
  takeData(bytes: Buffer): void {
    this.received += bytes.length;
    if (this.ended.there) throw new Error('data after its end');
    if (this.received > WINDOW_BYTES) throw new Error('more data than was asked for');
    if (this.destroyed) return;
    this.active();
    if (this.wanted) {
      // A copy, because the wire's chunk would live as long as a few bytes of it.
      this.wanted = false;
      this.push(Buffer.from(bytes));
    } else {
      this.inbox ??= Buffer.allocUnsafeSlow(WINDOW_BYTES);
      this.waiting += bytes.copy(this.inbox, this.waiting);
    }
    this.giveCredit();
  }

  /** Takes in that the sandbox may be sent more. Throws when that makes no sense. */
  grant(bytes: number): void {
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

  /** Sends what waits, as far as credit and wire allow. */
  pump(): void {
    while (this.unsent !== undefined && this.credit > 0 && this.wire.ready()) {
      const { bytes, done } = this.unsent;
      const part = bytes.subarray(0, Math.min(this.credit, MAX_DATA_BYTES));
      this.credit -= part.length;
      this.wire.data(this.id, part);
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

  /** As a socket's: `timeout` is emitted when no byte moved for so long; 0 turns it off. */
  setTimeout(ms: number, listener?: () => void): this {
    clearTimeout(this.idle);
    this.idle = ms > 0 && !this.destroyed ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined;
    if (listener !== undefined) this.once('timeout', listener);
    return this;
  }

  /** As a socket's: destroys it once everything is written. */
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
    this.wire.tell('end', this.id);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.idle);
    const { here, there, reset } = this.ended;
    if (!reset && !(here && there)) this.wire.tell('reset', this.id);
    this.unsent?.done(error ?? new Error('the connection was closed'));
    this.unsent = undefined;
    done(error);
  }

  private giveCredit(): void {
    const taken = this.received - this.waiting - this.readableLength;
    if (this.destroyed || taken < WINDOW_BYTES / 4) return;
    this.received -= taken;
    this.wire.tell('credit', this.id, taken);
  }

  private active(): void {
    this.idle?.refresh();
  }
}
