import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { shortStoryKey } from '../core/run/story-key.ts';

/** The cassette of a story in a folder of cassettes; one that is named as an older halo did counts where it is the only one. */
export function cassetteIn(folder: string, { id, key }: { id: string; key: string }): string {
  const path = join(folder, `${key}.jsonl`);
  const older = join(folder, `${shortStoryKey(id)}.jsonl`);
  return !existsSync(path) && existsSync(older) ? older : path;
}
