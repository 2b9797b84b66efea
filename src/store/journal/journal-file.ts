import type { FileHandle } from 'node:fs/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { JOURNAL_VERSION, type JournalEvent } from '../../core/journal/events.ts';
import { isEventType } from '../../core/journal/event-types.ts';
import { onDisk } from '../disk-errors.ts';

/** Events read from a journal, and the place (in bytes) where its last whole line ends. */
export interface JournalPart {
  events: JournalEvent[];
  end: number;
}

/** Where to read: from the start of a line, at most so many bytes, unless the first line alone is longer. */
interface Extent {
  from: number;
  most: number;
}

/**
 * Reads the events from a byte on. A last line without its newline is being written or was torn by a crash, and does
 * not count. Throws RUN_UNREADABLE.
 */
async function readJournalPart(file: FileHandle, path: string, extent: Extent): Promise<JournalPart> {
  const { from, most } = extent;
  const bytes = await readBytes(file, extent);
  const length = bytes.lastIndexOf(0x0a) + 1;
  if (length === 0 && bytes.length >= most) return readJournalPart(file, path, { from, most: 2 * most });
  const lines = bytes.toString('utf8', 0, length).split('\n').slice(0, -1);
  return { events: lines.map((line) => parseEvent(line, path)), end: from + length };
}

/** At most this much of a journal is in memory at once, however long it is. */
const PART_BYTES = 1024 * 1024;

/** The events that are there from a byte on, part by part. Throws RUN_UNREADABLE, DISK_FAILED. */
export async function* readJournal(file: FileHandle, path: string, from: number): AsyncGenerator<JournalPart> {
  for (let at = from; ;) {
    const part = await onDisk(path, () => readJournalPart(file, path, { from: at, most: PART_BYTES }));
    if (part.events.length === 0) return;
    yield part;
    at = part.end;
  }
}

/** One line of a journal as an event. Throws RUN_UNREADABLE. */
function parseEvent(line: string, path: string): JournalEvent {
  let value: Partial<JournalEvent> | null;
  try {
    value = JSON.parse(line) as Partial<JournalEvent> | null;
  } catch (error) {
    throw unreadable(path, `the line "${line.slice(0, 60)}" is not JSON`, error);
  }
  if (typeof value?.seq !== 'number' || typeof value.type !== 'string')
    throw unreadable(path, `the line "${line.slice(0, 60)}" is no event`);
  if (value.v !== JOURNAL_VERSION)
    throw unreadable(path, `event ${value.seq} has version ${String(value.v)}, this halo knows ${JOURNAL_VERSION}`);
  if (!isEventType(value.type))
    throw unreadable(path, `event ${value.seq} is "${value.type.slice(0, 60)}", which this halo does not know`);
  return value as JournalEvent;
}

export function unreadable(path: string, what: string, cause?: unknown): HaloError {
  const hint = 'If another version of halo wrote it, use that one; otherwise restore the file from a backup.';
  return new HaloError('RUN_UNREADABLE', `Could not read ${path}: ${what}.`, { hint, cause });
}

/**
 * Adds events at `end` in one write, after cutting off what a crash left there: all of them, or, when the disk refuses,
 * none. The caller holds the run's lock.
 */
export async function appendEvents(file: FileHandle, part: JournalPart, durable: boolean): Promise<number> {
  const bytes = Buffer.from(part.events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  if ((await file.stat()).size > part.end) await file.truncate(part.end);
  try {
    await file.writeFile(bytes);
    if (durable) await file.datasync();
  } catch (error) {
    await file.truncate(part.end).catch(() => undefined);
    throw error;
  }
  return part.end + bytes.length;
}

async function readBytes(file: FileHandle, { from, most }: Extent): Promise<Buffer> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(most, Math.max(0, size - from)));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}
