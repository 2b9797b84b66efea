import type { PrdFile } from '../../core/prd/prd.ts';

/** A PRD in a request: its content is in base64. */
export interface WirePrd {
  path: string;
  content: string;
}

export function toWirePrd({ path, bytes }: PrdFile): WirePrd {
  return { path, content: Buffer.from(bytes).toString('base64') };
}

export function fromWirePrd({ path, content }: WirePrd): PrdFile {
  return { path, bytes: new Uint8Array(Buffer.from(content, 'base64')) };
}
