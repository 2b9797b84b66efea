import { toHaloError } from '../../../core/failure/errors.ts';
import { pathExists, readRegularFile } from '../../../lib/fs.ts';
import { defined } from '../../../lib/guards.ts';
import { MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { parsePrd } from '../../../prd/parse-prd.ts';
import { notePathOf } from './failure-note.ts';
import { digestOf, FolderRecords, type FolderRecord } from './folder-records.ts';
import { resolveFolder } from './run-folder-queue.ts';
import { scanFolder } from './scan-folder.ts';

/** A PRD in the folder of a queue. */
export interface QueuedPrd {
  name: string;
  /** `refused`: it cannot be read, or is not a regular file. `done`: all of its stories are, so it is archived next. */
  state: 'waiting' | 'running' | 'failed' | 'refused' | 'done';
  /** Numbers of stories; 0 if it cannot be read. */
  done: number;
  total: number;
  /** Its run, if there is one. */
  runId?: string;
  /** Why it is refused. */
  reason?: string;
}

/** Lists the PRDs of a folder in the order in which a queue runs them; changes nothing. Throws PRD_UNREADABLE. */
export async function listFolder(home: string, given: string): Promise<QueuedPrd[]> {
  const folder = await resolveFolder(given);
  const [{ files, refused }, records] = await Promise.all([scanFolder(folder), new FolderRecords(home, folder).all()]);
  const listed = files.map(async ({ name, path }): Promise<QueuedPrd> => {
    const record = records.get(name);
    const run = defined({ runId: record?.state === 'done' ? undefined : record?.runId });
    try {
      const bytes = await readRegularFile(path, MAX_PRD_BYTES);
      const { stories } = parsePrd(bytes, path);
      const done = stories.filter(({ status }) => status === 'done').length;
      const isOpen = stories.some(({ status }) => status === 'pending' || status === 'in_progress');
      const isNoted = await pathExists(notePathOf(folder, name));
      return { name, state: stateOf(record, { bytes, isOpen, isNoted }), done, total: stories.length, ...run };
    } catch (error) {
      return { name, state: 'refused', done: 0, total: 0, ...run, reason: toHaloError(error).message };
    }
  });
  const others = refused.map(({ name, reason }): QueuedPrd => {
    return { name, state: 'refused', done: 0, total: 0, reason };
  });
  return [...(await Promise.all(listed)), ...others];
}

function stateOf(
  record: FolderRecord | undefined,
  { bytes, isOpen, isNoted }: { bytes: Uint8Array; isOpen: boolean; isNoted: boolean },
): QueuedPrd['state'] {
  if (record !== undefined && ['submitting', 'running', 'archiving'].includes(record.state)) return 'running';
  if (record?.state === 'stopped' && isNoted && record.digest === digestOf(bytes)) return 'failed';
  return isOpen ? 'waiting' : 'done';
}
