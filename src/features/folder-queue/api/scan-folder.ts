import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { findHiddenCharacter } from '../../../core/text/look-alike.ts';
import { hasPrdEnding } from '../../../prd/dialect-registry.ts';

/** A file of a folder of PRDs. `version` changes with its content. */
export interface FolderFile {
  name: string;
  path: string;
  version: string;
  modifiedAt: number;
}

interface FolderScan {
  /** In the order of their names; numbers in names are compared as numbers. */
  files: FolderFile[];
  /** Entries that look like PRDs and are not taken, with the reason. */
  refused: { name: string; reason: string }[];
}

const MAX_FILES = 1000;

/** Names that editors and programs give to files that they are writing, or keep beside another file. */
const TEMPORARY = /^[.#~]|~$|^4913$|\.(?:swp|swx|tmp|temp|part|partial|crdownload|bak|orig|lock)$/i;

/** Lists the PRDs of a folder; folders in it are not entered. Throws PRD_UNREADABLE. */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const names = await readdir(folder).catch((cause: NodeJS.ErrnoException) => {
    throw new HaloError('PRD_UNREADABLE', `The folder ${folder} cannot be read (${cause.code ?? cause.message}).`, {
      hint: 'Pass a folder with PRDs.',
      cause,
    });
  });
  const scan: FolderScan = { files: [], refused: [] };
  const order = new Intl.Collator('en', { numeric: true });
  const compare = (a: string, b: string) => order.compare(a, b) || (a < b ? -1 : 1);
  for (const name of names.filter((each) => hasPrdEnding(each) && !TEMPORARY.test(each)).sort(compare)) {
    const path = join(folder, name);
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined || found.isDirectory()) continue;
    const reason = !found.isFile()
      ? `it is ${found.isSymbolicLink() ? 'a link' : 'not a regular file'}`
      : findHiddenCharacter(name) !== undefined
        ? 'its name has a hidden character'
        : scan.files.length >= MAX_FILES
          ? `the folder has more than ${MAX_FILES} PRDs`
          : undefined;
    if (reason !== undefined) scan.refused.push({ name, reason });
    else {
      const { ino, size, mtimeMs } = found;
      scan.files.push({ name, path, version: `${ino}:${size}:${mtimeMs}`, modifiedAt: mtimeMs });
    }
  }
  return scan;
}

/** Finds out which files were written completely: those that do not change for a while. */
export class WrittenFiles {
  readonly #quietMs: number;
  /** The version of each file, and since when it is unchanged (monotonic). */
  readonly #seen = new Map<string, { version: string; since: number }>();

  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  isComplete({ name, version, modifiedAt }: FolderFile): boolean {
    const now = performance.now();
    const seen = this.#seen.get(name);
    const isOld = seen === undefined && Date.now() - modifiedAt > 10 * this.#quietMs;
    const known = seen?.version === version ? seen : { version, since: isOld ? -Infinity : now };
    this.#seen.set(name, known);
    return now - known.since >= this.#quietMs;
  }
}
