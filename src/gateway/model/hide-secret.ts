import { Transform } from 'node:stream';
import { secretForms } from '../../lib/secrets/encodings.ts';
import { compileWrapped } from '../../lib/secrets/multi-pattern-matcher.ts';

/**
 * Replaces each occurrence of the secret, in all its common encodings, by as many asterisks, also when it is split
 * over chunks. Bytes are held back only while they could be the beginning of one, so that a stream stays one.
 */
export function hideSecret(secret: string): Transform {
  const needles = compileWrapped(secretForms(secret));
  let held = Buffer.alloc(0);
  const hide = (data: Buffer): Buffer => {
    let copy: Buffer | undefined;
    needles.find(data, (from, to) => void (copy ??= Buffer.from(data)).fill('*', from, to));
    return copy ?? data;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const data = hide(held.length === 0 ? chunk : Buffer.concat([held, chunk]));
      const sure = needles.beginning(data);
      held = Buffer.from(data.subarray(sure));
      done(null, data.subarray(0, sure));
    },
    flush(done) {
      done(null, held);
    },
  });
}
