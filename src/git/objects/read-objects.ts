import { git } from '../process/git.ts';
import { defined } from '../../lib/guards.ts';

export interface ObjectFacts {
  type: string;
  size: number;
}

/** Reads type and size of objects by id, in one process; missing objects are absent from the result. */
export async function statObjects(
  gitDir: string,
  ids: string[],
  signal?: AbortSignal,
): Promise<Map<string, ObjectFacts>> {
  const facts = new Map<string, ObjectFacts>();
  if (ids.length === 0) return facts;
  const input = `${ids.join('\n')}\n`;
  const options = { gitDir, input, ...defined({ signal }) };
  const { stdout } = await git(['cat-file', '--batch-check'], options);
  for (const line of stdout.toString('latin1').split('\n')) {
    const [id = '', type = '', size] = line.split(' ');
    if (size !== undefined) facts.set(id, { type, size: Number(size) });
  }
  return facts;
}

/** Reads objects by name (an id, or `<commit>:<path>` without line breaks); undefined for missing ones. */
export async function readObjects(
  gitDir: string,
  names: string[],
  signal?: AbortSignal,
): Promise<(Buffer | undefined)[]> {
  if (names.length === 0) return [];
  const input = `${names.join('\n')}\n`;
  const options = { gitDir, input, ...defined({ signal }) };
  const { stdout } = await git(['cat-file', '--batch'], options);
  const contents: (Buffer | undefined)[] = [];
  let at = 0;
  while (at < stdout.length) {
    const end = stdout.indexOf(0x0a, at);
    const size = /^[0-9a-f]{40,64} [a-z]+ (\d+)$/.exec(stdout.toString('utf8', at, end))?.[1];
    at = end + 1;
    contents.push(size === undefined ? undefined : stdout.subarray(at, at + Number(size)));
    if (size !== undefined) at += Number(size) + 1;
  }
  return contents;
}
