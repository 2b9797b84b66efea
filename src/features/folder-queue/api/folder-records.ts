import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { HaloError } from '../../../core/failure/errors.ts';
import { createFolders, readFolder, readIfExists, syncPath, writeAtomic } from '../../../lib/fs.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';

const Record = z.object({
  name: z.string(),
  /** `submitting`: the request may have been sent. `archiving`: the file moves to `to`. `stopped`: it has a note. */
  state: z.enum(['submitting', 'running', 'archiving', 'stopped', 'done']),
  specHash: z.string(),
  /** Of the file's content when it got its note. */
  digest: z.string().optional(),
  /** The request, so that it is repeated unchanged, and its content as base64. */
  request: z.looseObject({ key: z.string() }),
  content: z.string(),
  /** The commit that was checked out at the first submit. */
  head: z.string().optional(),
  runId: z.string().optional(),
  to: z.string().optional(),
});

/** What a queue knows about one PRD of its folder. */
export type FolderRecord = z.output<typeof Record>;

const Last = z.object({ runId: z.string(), head: z.string() });

/** The newest run of a queue, and the commit that was checked out at its submit. */
type LastRun = z.output<typeof Last>;

/** The durable records of a folder's queue, in HALO_HOME: one file for each PRD. */
export class FolderRecords {
  readonly dir: string;

  /** `folder` is the real path. */
  constructor(home: string, folder: string) {
    this.dir = join(home, 'folders', digestOf(folder).slice(0, 32));
  }

  async open(): Promise<void> {
    await createFolders(this.dir, 0o700);
  }

  /** By name. Throws DISK_FAILED for a damaged record, because its run could be submitted twice. */
  async all(): Promise<Map<string, FolderRecord>> {
    const records = new Map<string, FolderRecord>();
    for (const file of await readFolder(this.dir)) {
      if (!/^[0-9a-f]{64}\.json$/.test(file)) continue;
      const path = join(this.dir, file);
      const text = await readIfExists(path);
      const read = text === undefined ? undefined : Record.safeParse(tryParseJson(text));
      if (read?.success === false)
        throw new HaloError('DISK_FAILED', `The record ${path} of the queue is damaged.`, {
          hint: 'Look for its run with `halo ls`, then remove the record.',
        });
      if (read !== undefined) records.set(read.data.name, read.data);
    }
    return records;
  }

  async save(record: FolderRecord): Promise<void> {
    await writeAtomic(this.pathOf(record.name), JSON.stringify(record), true);
  }

  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { force: true });
    await syncPath(this.dir);
  }

  async lastRun(): Promise<LastRun | undefined> {
    const read = Last.safeParse(tryParseJson((await readIfExists(join(this.dir, 'last.json'))) ?? ''));
    return read.success ? read.data : undefined;
  }

  async saveLastRun(last: LastRun): Promise<void> {
    await writeAtomic(join(this.dir, 'last.json'), JSON.stringify(last), true);
  }

  private pathOf(name: string): string {
    return join(this.dir, `${digestOf(name)}.json`);
  }
}

export function digestOf(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
