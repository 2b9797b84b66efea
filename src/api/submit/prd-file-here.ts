import { isAbsolute } from 'node:path';
import { readRegularFile } from '../../lib/read-file.ts';
import type { SubmitRequest } from '../operations.ts';

/**
 * Whether the PRD of a request is a file of this machine, as it was sent: only then may progress be written into it.
 * A path from elsewhere may name another file here.
 */
export async function isFileHere({ path, bytes }: SubmitRequest['prd']): Promise<boolean> {
  if (!isAbsolute(path)) return false;
  const here = await readRegularFile(path, bytes.length).catch(() => undefined);
  return here !== undefined && here.equals(bytes);
}
