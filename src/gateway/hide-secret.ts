import { Transform } from 'node:stream';

/**
 * Replaces each occurrence of the secret by as many asterisks, also when it is split over chunks.
 * Bytes are held back only while they could be the beginning of the secret.
 */
export function hideSecret(secret: string): Transform {
  const needle = Buffer.from(secret);
  let held = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const data = mask(held.length === 0 ? chunk : Buffer.concat([held, chunk]), needle);
      const keep = heldLength(data, needle);
      held = Buffer.from(data.subarray(data.length - keep));
      done(null, data.subarray(0, data.length - keep));
    },
    flush(done) {
      done(null, held);
    },
  });
}

function mask(data: Buffer, needle: Buffer): Buffer {
  let at = data.indexOf(needle);
  if (at < 0) return data;
  const copy = Buffer.from(data);
  for (; at >= 0; at = copy.indexOf(needle, at + needle.length)) copy.fill('*', at, at + needle.length);
  return copy;
}

/** Length of the longest end of `data` that is a true beginning of `needle`. */
function heldLength(data: Buffer, needle: Buffer): number {
  for (let length = Math.min(needle.length - 1, data.length); length > 0; length--)
    if (data.subarray(data.length - length).equals(needle.subarray(0, length))) return length;
  return 0;
}
