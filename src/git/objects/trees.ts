import { HaloError } from '../../core/failure/errors.ts';
import { defined } from '../../lib/guards.ts';
import { policyViolation } from '../import/import-limits.ts';
import { gitStream } from '../process/git.ts';

export interface RawChange {
  oldMode: string;
  newMode: string;
  /** The object before the change; zeros when the path is new. */
  oldId: string;
  /** The object after the change; zeros when the path is deleted. */
  newId: string;
  path: string;
}

interface TreeDiffRequest {
  gitDir: string;
  from: string;
  to: string;
  maxEntries: number;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** The mode of a missing path. */
export const ABSENT = '000000';

const MAX_BYTES_PER_ENTRY = 8192;

/** Lists the paths that differ between two trees, read as a stream. Throws POLICY_VIOLATION, also for more than `maxEntries`. */
export async function diffTrees(request: TreeDiffRequest): Promise<RawChange[]> {
  const stop = new AbortController();
  const signal = request.signal === undefined ? stop.signal : AbortSignal.any([request.signal, stop.signal]);
  const flags = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--no-ext-diff', '--no-textconv'];
  const args = ['diff-tree', ...flags, '--end-of-options', request.from, request.to];
  const diff = await gitStream(args, { gitDir: request.gitDir, timeoutMs: request.timeoutMs, signal });
  diff.done.catch(() => undefined);
  try {
    const changes: RawChange[] = [];
    for await (const [head, path] of pairs(diff.stdout)) {
      if (changes.length === request.maxEntries)
        throw policyViolation(undefined, `it changes more than ${changes.length} files`);
      changes.push(parse(head, path));
    }
    await diff.done;
    return changes;
  } catch (error) {
    if (!(error instanceof HaloError) || error.code !== 'GIT_FAILED') throw error;
    throw policyViolation(undefined, `its tree cannot be read (${error.message})`);
  } finally {
    stop.abort();
  }
}

/** Parses the pairs of records that `diff-tree -z --raw` prints: modes and ids, then the path. */
async function* pairs(stream: AsyncIterable<unknown>): AsyncGenerator<[Buffer, Buffer]> {
  let rest = Buffer.alloc(0);
  let head: Buffer | undefined;
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = rest.indexOf(0, start); end !== -1; end = rest.indexOf(0, start)) {
      const record = rest.subarray(start, end);
      start = end + 1;
      if (head === undefined) head = record;
      else {
        yield [head, record];
        head = undefined;
      }
    }
    rest = rest.subarray(start);
    if (rest.length > MAX_BYTES_PER_ENTRY) throw policyViolation(undefined, 'it contains a path without end');
  }
}

function parse(head: Buffer, path: Buffer): RawChange {
  const [oldMode = '', newMode = '', oldId = '', newId = ''] = head.toString('latin1').replace(/^:/, '').split(' ');
  const text = path.toString('utf8');
  if (!Buffer.from(text).equals(path)) throw policyViolation(text, 'the path is not valid UTF-8');
  return { oldMode, newMode, oldId, newId, path: text };
}

export interface TreeFile {
  /** `100644`, `100755`, `120000` or `160000`. */
  mode: string;
  id: string;
  path: string;
}

/** Lists the files of a commit that match `isWanted`, without keeping the whole list in memory. Throws GIT_FAILED. */
export async function listFiles(
  { gitDir, commit, signal }: { gitDir: string; commit: string; signal?: AbortSignal | undefined },
  isWanted: (file: TreeFile) => boolean,
): Promise<TreeFile[]> {
  const args = ['ls-tree', '-r', '-z', '--full-tree', '--end-of-options', commit];
  const list = await gitStream(args, { gitDir, ...defined({ signal }) });
  const files: TreeFile[] = [];
  let rest = '';
  for await (const chunk of list.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\0');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [facts = '', path = ''] = splitOnce(line, '\t');
      const [mode = '', , id = ''] = facts.split(' ');
      const file = { mode, id, path };
      if (isWanted(file)) files.push(file);
    }
  }
  await list.done;
  return files;
}

function splitOnce(text: string, at: string): [string, string] {
  const place = text.indexOf(at);
  return [text.slice(0, place), text.slice(place + at.length)];
}

interface TreeEntry {
  /** As in the tree object, e.g. `100644`, or `40000` for a folder. */
  mode: string;
  name: string;
}

/** Parses a raw tree object: a sequence of `<mode> <name>\0<id>`. Empty when it is missing or not a tree. */
export function readTree(tree: Buffer | undefined, idBytes: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  if (tree === undefined) return entries;
  for (let at = 0; at < tree.length;) {
    const blank = tree.indexOf(0x20, at);
    const end = tree.indexOf(0, blank);
    if (blank === -1 || end === -1) break; // not a tree: the path is a file in the base
    entries.push({ mode: tree.toString('latin1', at, blank), name: tree.toString('utf8', blank + 1, end) });
    at = end + 1 + idBytes;
  }
  return entries;
}
