import { Transform } from 'node:stream';
import { secretForms } from '../lib/secret-forms.ts';

/**
 * Replaces each occurrence of the secret, in all its common encodings, by as many asterisks, also when it is split
 * over chunks. Bytes are held back only while they could be the beginning of one.
 */
export function hideSecret(secret: string): Transform {
  const needles = secretForms(secret).map((form) => Buffer.from(form));
  let held = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const data = mask(held.length === 0 ? chunk : Buffer.concat([held, chunk]), needles);
      const keep = Math.max(...needles.map((needle) => heldLength(data, needle)));
      held = Buffer.from(data.subarray(data.length - keep));
      done(null, data.subarray(0, data.length - keep));
    },
    flush(done) {
      done(null, held);
    },
  });
}

/** The same for a whole text. */
export function withoutSecret(text: string, secret: string | undefined): string {
  if (secret === undefined || secret === '') return text;
  return secretForms(secret).reduce((rest, form) => rest.replaceAll(form, '*'.repeat(form.length)), text);
}

function mask(data: Buffer, needles: Buffer[]): Buffer {
  let copy: Buffer | undefined;
  for (const needle of needles) {
    for (let at = data.indexOf(needle); at >= 0; at = data.indexOf(needle, at + needle.length)) {
      copy ??= Buffer.from(data);
      copy.fill('*', at, at + needle.length);
    }
  }
  return copy ?? data;
}

/** Length of the longest end of `data` that is a true beginning of `needle`. */
function heldLength(data: Buffer, needle: Buffer): number {
  for (let length = Math.min(needle.length - 1, data.length); length > 0; length--)
    if (data.subarray(data.length - length).equals(needle.subarray(0, length))) return length;
  return 0;
}
