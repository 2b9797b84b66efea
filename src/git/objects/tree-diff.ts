import { HaloError } from '../../core/failure/errors.ts';
import { gitStream } from '../process/git.ts';
import { policyViolation } from '../import/policy-violation.ts';

export interface RawChange {
  oldMode: string;
  newMode: string;
  /** The object before the change; zeros when the path is new. */
  oldId: string;
  /** The object after the change; zeros when the path is deleted. */
  newId: string;
  path: string;
}

export interface TreeDiffRequest {
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
