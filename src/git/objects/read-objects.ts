import { git } from '../process/git.ts';
import { defined } from '../../lib/guards.ts';

interface ObjectFacts {
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

/** What is read of objects, in bytes. */
interface ReadLimits {
  signal?: AbortSignal | undefined;
  /** A larger object counts as missing. */
  maxEach?: number;
  /** All objects together; each counts once. */
  maxBytes?: number;
}

const MAX_BYTES = 256 * 1024 * 1024;
/** What one process prints. */
const PART_BYTES = 32 * 1024 * 1024;
/** The line before the content of an object, and the line break after it. */
const LINE_BYTES = 100;

/**
 * Reads objects by name (an id, or `<commit>:<path>` without line breaks); undefined for missing ones. Each object is read
 * once, however often it is named. Returns undefined, and reads nothing, if all together are larger than `maxBytes`: a
 * repository can contain such objects, so this is not an error of git.
 */
export async function readObjects(
  gitDir: string,
  names: readonly string[],
  { signal, maxEach = Infinity, maxBytes = MAX_BYTES }: ReadLimits = {},
): Promise<(Buffer | undefined)[] | undefined> {
  const found = await findObjects(gitDir, [...new Set(names)], signal);
  const sizes = new Map([...found.values()].map(({ id, size }) => [id, size]));
  for (const [id, size] of sizes) if (size > maxEach) sizes.delete(id);
  if ([...sizes.values()].reduce((sum, size) => sum + size, 0) > maxBytes) return undefined;
  const contents = new Map<string, Buffer>();
  for (const part of inParts(sizes)) {
    const bytes = part.reduce((sum, id) => sum + (sizes.get(id) ?? 0) + LINE_BYTES, 0);
    const options = { gitDir, input: `${part.join('\n')}\n`, maxBytes: bytes, ...defined({ signal }) };
    const { stdout } = await git(['cat-file', '--batch'], options);
    for (let at = 0; at < stdout.length;) {
      const end = stdout.indexOf(0x0a, at);
      const [, id, size] = /^([0-9a-f]{40,64}) [a-z]+ (\d+)$/.exec(stdout.toString('utf8', at, end)) ?? [];
      at = end + 1;
      if (id === undefined) continue;
      contents.set(id, stdout.subarray(at, at + Number(size)));
      at += Number(size) + 1;
    }
  }
  return names.map((name) => contents.get(found.get(name)?.id ?? ''));
}

/** Id and size of the objects that exist, by name. */
async function findObjects(
  gitDir: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Map<string, { id: string; size: number }>> {
  const found = new Map<string, { id: string; size: number }>();
  if (names.length === 0) return found;
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name) + LINE_BYTES, 0);
  const options = { gitDir, input: `${names.join('\n')}\n`, maxBytes: bytes, ...defined({ signal }) };
  const { stdout } = await git(['cat-file', '--batch-check'], options);
  // In the order of the names. A missing object has a line that ends with the word "missing".
  const lines = stdout.toString('utf8').split('\n');
  names.forEach((name, index) => {
    const [, id, size] = /^([0-9a-f]{40,64}) [a-z]+ (\d+)$/.exec(lines[index] ?? '') ?? [];
    if (id !== undefined) found.set(name, { id, size: Number(size) });
  });
  return found;
}

/** Ids in parts that one process can print; a larger object is a part of its own. */
function inParts(sizes: ReadonlyMap<string, number>): string[][] {
  const parts: string[][] = [];
  let room = 0;
  for (const [id, size] of sizes) {
    if (parts.length === 0 || size > room) {
      parts.push([]);
      room = PART_BYTES;
    }
    parts.at(-1)?.push(id);
    room -= size;
  }
  return parts;
}
