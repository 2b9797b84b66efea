import { isUtf8 } from 'node:buffer';
import { HaloError } from '../core/failure/errors.ts';

/** Size limit of a PRD file. */
export const MAX_PRD_BYTES = 4 * 1024 * 1024;

/** Throws PRD_INVALID if a file of this size is too large. */
export function assertPrdSize(size: number, path: string): void {
  if (size <= MAX_PRD_BYTES) return;
  throw new HaloError('PRD_INVALID', `${path}: The file has ${size} bytes; the limit is ${MAX_PRD_BYTES} (4 MiB).`, {
    hint: 'Split it into several PRDs.',
  });
}

/**
 * Decodes a PRD file and strips its byte order mark.
 * Throws PRD_INVALID if the file is too large, empty or not UTF-8; other encodings are not guessed.
 */
export function decodePrd(bytes: Uint8Array, path: string): { text: string; hadMark: boolean } {
  assertPrdSize(bytes.length, path);
  const whole = decodeText(bytes, path);
  const hadMark = whole.startsWith('\uFEFF');
  const text = hadMark ? whole.slice(1) : whole;
  if (text.trim() === '') {
    throw new HaloError('PRD_INVALID', `${path}: The file is empty.`, { hint: 'Write at least one story into it.' });
  }
  return { text, hadMark };
}

/** The text of a file with its byte order mark, if it has one. Throws PRD_INVALID if it is not UTF-8. */
export function decodeText(bytes: Uint8Array, path: string): string {
  if (!isUtf8(bytes)) {
    const offset = locateInvalidUtf8(bytes);
    const line = 1 + bytes.subarray(0, offset).filter((byte) => byte === 0x0a).length;
    const byte = (bytes[offset] ?? 0).toString(16).padStart(2, '0');
    throw new HaloError('PRD_INVALID', `${path}:${line}: The text is not UTF-8: byte 0x${byte} at offset ${offset}.`, {
      hint: 'Save the file as UTF-8.',
    });
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** Returns the offset of the first byte that is not part of a well-formed character. The bytes must contain one. */
function locateInvalidUtf8(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = characterLength(bytes[at] ?? 0);
    if (at + length > bytes.length || !isUtf8(bytes.subarray(at, at + length))) return at;
    at += length;
  }
  return at;
}

function characterLength(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}
