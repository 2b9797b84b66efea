/** Frame types of the protocol between `bridge` and halo; `docker/sandbox/bridge.c` documents each. */
const FRAME = { hello: 1, open: 2, data: 3, end: 4, reset: 5, credit: 6 } as const;
export type FrameType = keyof typeof FRAME;

export const PROTOCOL_VERSION = 1;
/** Flow-control window of one connection and direction, in bytes. */
export const WINDOW_BYTES = 256 * 1024;
/** Maximum number of bytes in one frame. */
export const MAX_DATA_BYTES = 32 * 1024;

const HEADER_BYTES = 8;
const NAMES = new Map<number, FrameType>((Object.keys(FRAME) as FrameType[]).map((name) => [FRAME[name], name]));

/** A frame. For `data`, the first one announces `value` bytes, and one or more with `bytes` follow. */
export interface Frame {
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
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame, void, void> {
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
