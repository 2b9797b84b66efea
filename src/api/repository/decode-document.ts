import { HaloError } from '../../core/failure/errors.ts';

/** The longest document that an agent reads. */
export const MAX_DOCUMENT_BYTES = 512 * 1024;

/** The text of a document for an agent. Throws PRD_UNREADABLE if it is not a text file, empty or too large. */
export function decodeDocument(path: string, bytes: Uint8Array): string {
  const text = decode(bytes);
  const fault = findEncodingFault(bytes, text);
  if (text !== undefined && fault === undefined) return text;
  throw new HaloError('PRD_UNREADABLE', `The document ${path} ${fault ?? 'is not a text file'}.`, {
    hint: 'Name a text file, such as Markdown, of at most 512 KiB.',
  });
}

function findEncodingFault(bytes: Uint8Array, text: string | undefined): string | undefined {
  if (bytes.length > MAX_DOCUMENT_BYTES) return 'is larger than 512 KiB';
  if (text === undefined) return 'is not a text file in UTF-8';
  if (text.includes('\0')) return 'is not a text file';
  return text.trim() === '' ? 'is empty' : undefined;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
