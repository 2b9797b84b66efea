import { isAbsolute } from 'node:path';
import { readRegularFile } from '../../lib/fs.ts';
import type { SubmitRequest } from '../operations.ts';

/**
 * Whether the PRD of a request is a file on this machine with the same content. Only then may halo write progress into it:
 * a path from another machine may name a different file here.
 */
export async function isFileHere({ path, bytes }: SubmitRequest['prd']): Promise<boolean> {
  if (!isAbsolute(path)) return false;
  const here = await readRegularFile(path, bytes.length).catch(() => undefined);
  return here !== undefined && here.equals(bytes);
}
