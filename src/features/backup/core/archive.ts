import { z } from 'zod';
import { HaloError } from '../../../core/failure/errors.ts';
import { JOURNAL_VERSION } from '../../../core/journal/event-parts.ts';
import { isFileName, isRepositoryFile, readingOf } from './home-entries.ts';

/** Version of the archive. A reader refuses a newer one. */
export const FORMAT = 1;
/** The first entry: what the archive is. */
export const HEADER_NAME = 'halo-backup.json';
/** The last entry: a line for each other entry but the first. An archive without it was cut off. */
export const MANIFEST_NAME = 'manifest.jsonl';
/** Maximum size of the header, in bytes. */
export const MAX_HEADER_BYTES = 64 * 1024;

const HeaderShape = z.object({
  format: z.number(),
  /** Version of halo that wrote it. */
  halo: z.string(),
  /** Version of the events in its journals. */
  journal: z.number(),
  /** The HALO_HOME: its id, and where it was. */
  home: z.object({ id: z.string(), host: z.string(), path: z.string() }),
  /** When the backup began, ISO 8601. */
  at: z.string(),
  /** Workers that ran meanwhile. */
  workers: z.number(),
  keys: z.boolean(),
  artifacts: z.boolean(),
});

export type BackupHeader = z.infer<typeof HeaderShape>;

/** A file of an archive, in the order of the archive. */
export interface ArchivedFile {
  path: string;
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
}

/** The line of the manifest for a file. */
export function manifestLine({ path, bytes, sha256 }: ArchivedFile): string {
  return `${JSON.stringify({ path, bytes, sha256 })}\n`;
}

const VersionShape = z.looseObject({ format: z.number(), journal: z.number(), halo: z.string() });

/** The header in the JSON of the first entry. Throws BACKUP_UNREADABLE, also for the archive of a newer halo. */
export function toHeader(value: unknown): BackupHeader {
  const version = VersionShape.safeParse(value).data;
  if (version !== undefined && (version.format > FORMAT || version.journal > JOURNAL_VERSION))
    throw new HaloError('BACKUP_UNREADABLE', 'A newer version of halo wrote this backup.', {
      hint: `Install halo ${version.halo.slice(0, 20)} or a newer version, and repeat the command.`,
    });
  const header = HeaderShape.safeParse(value).data;
  if (header === undefined) throw notABackup();
  return header;
}

export function notABackup(cause?: unknown): HaloError {
  return new HaloError('BACKUP_UNREADABLE', 'This is not a backup that `halo backup` has written.', {
    hint: 'Name the file that `halo backup <file>` wrote.',
    cause,
  });
}

/** The error for an archive that is not as it was written; `what` continues "The backup is damaged: ". */
export function damaged(what: string, cause?: unknown): HaloError {
  return new HaloError('BACKUP_UNREADABLE', `The backup is damaged: ${what}.`, {
    hint: 'Use another backup. `halo backup --check <file>` examines one without restoring it.',
    cause,
  });
}

/** An entry of a tar archive, as its header says. */
export interface Entry {
  name: string;
  /** `file`, or what tar calls another kind. */
  type: string | undefined;
  bytes: number;
}

const MAX_PATH = 1024;
const MAX_DEPTH = 12;

/**
 * Throws BACKUP_UNREADABLE for an entry that no backup has: whatever else is in the archive, nothing is restored. `runId`: the
 * form of ids of runs.
 */
export function assertEntry({ name, type, bytes }: Entry, runId: RegExp): void {
  const shown = JSON.stringify(name.slice(0, 100));
  if (type !== 'file') throw damaged(`${shown} is a ${(type ?? 'unknown entry').slice(0, 40)}, not a file`);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw damaged(`${shown} has no valid size`);
  const parts = name.split('/');
  const [top = '', second = '', ...rest] = parts;
  const reading = readingOf(top);
  const isKnown = reading !== undefined && reading !== 'never';
  const isOfRun = reading !== 'runs' || runId.test(second);
  // git would take settings and hooks that lie where a repository is made.
  const isOfRepository = reading !== 'repositories' || isRepositoryFile(rest.join('/'));
  const isPath = name.length <= MAX_PATH && parts.length <= MAX_DEPTH && parts.every(isFileName);
  if (!isPath || !isKnown || !isOfRun || !isOfRepository) throw damaged(`${shown} is not a file of a HALO_HOME`);
}

/** Where a backup is restored. */
interface Destination {
  host: string;
  /** Whether the folder where the home was still has a home with its id. */
  hasOriginal: boolean;
}

/**
 * Why a backup may be restored only if the operator confirms that its original has stopped for good; undefined: it may. Both
 * have the same id: their workers would execute the same runs, and remove the containers of each other.
 */
export function whyTakeOver(header: Pick<BackupHeader, 'home' | 'workers'>, here: Destination): string | undefined {
  const { host, path } = header.home;
  if (host === here.host) return here.hasOriginal ? `its HALO_HOME ${path} still exists on this machine` : undefined;
  if (header.workers === 0) return undefined;
  return `${header.workers === 1 ? 'a worker was' : `${header.workers} workers were`} running on ${host} during the backup`;
}
