import { Transform } from 'node:stream';
import { secretEncodings } from '../../lib/secrets/encodings.ts';
import { compileMatcher } from '../../lib/secrets/multi-pattern-matcher.ts';

/**
 * Replaces secrets, in all their common encodings and also across chunk borders, by asterisks of the same length. Bytes
 * are held back only while they could be the start of a secret, so that the stream is not delayed.
 */
export function hideSecrets(secrets: readonly string[]): Transform {
  const needles = compileMatcher(secrets.flatMap(secretEncodings));
  let pending = Buffer.alloc(0);
  const hide = (data: Buffer): Buffer => {
    let copy: Buffer | undefined;
    needles.find(data, (from, to) => void (copy ??= Buffer.from(data)).fill('*', from, to));
    return copy ?? data;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const data = hide(pending.length === 0 ? chunk : Buffer.concat([pending, chunk]));
      const sure = needles.beginning(data);
      pending = Buffer.from(data.subarray(sure));
      done(null, data.subarray(0, sure));
    },
    flush(done) {
      done(null, pending);
    },
  });
}
