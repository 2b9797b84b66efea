import type { FileHandle } from 'node:fs/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { JOURNAL_VERSION } from '../../core/journal/event-parts.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { isEventType } from '../../core/journal/events.ts';
import { withDiskErrors } from '../disk-errors.ts';

/** Events read from a journal, and the byte offset at which the last complete line ends. */
interface JournalPart {
  events: JournalEvent[];
  end: number;
}

/** A part of a journal that was read. */
export interface ReadPart extends JournalPart {
  /** Whether nothing more was there. */
  isLast: boolean;
  /** The number of the last event that was read. */
  seq: number | undefined;
}

/** Where to read from: the start of a line, and the number of the event before it, if known. */
interface JournalPlace {
  from: number;
  seq?: number | undefined;
}

/** The range to read: at most `maxBytes`, or more when the first line alone is longer. */
interface Extent extends JournalPlace {
  maxBytes: number;
}

/**
 * Reads events from a byte offset. An incomplete last line is being written, or was cut off by a crash, and is ignored.
 * Throws RUN_UNREADABLE, also if an event is missing, repeated or in another place.
 */
async function readExtent(
  file: FileHandle,
  path: string,
  extent: Extent,
  isSkipped: (line: string) => boolean,
): Promise<ReadPart> {
  const { from, maxBytes } = extent;
  const bytes = await readBytes(file, extent);
  const length = bytes.lastIndexOf(0x0a) + 1;
  if (length === 0 && bytes.length >= maxBytes)
    return readExtent(file, path, { ...extent, maxBytes: 2 * maxBytes }, isSkipped);
  const events: JournalEvent[] = [];
  let seq = from === 0 ? 0 : extent.seq;
  for (const line of bytes.toString('utf8', 0, length).split('\n').slice(0, -1)) {
    const event = isSkipped(line) ? undefined : parseEvent(line, path);
    const next = event?.seq ?? Number(SEQ.exec(line)?.[1]);
    if (seq !== undefined && next !== seq + 1)
      throw unreadable(path, seq === 0 ? `it begins with event ${next}` : `event ${next} follows event ${seq}`);
    seq = next;
    if (event !== undefined) events.push(event);
  }
  return { events, end: from + length, isLast: bytes.length < maxBytes, seq };
}

const SEQ = /^\{"v":\d+,"seq":(\d+),/;

/** Limits how much of a journal is in memory. */
const PART_BYTES = 128 * 1024;

/** Reads events from a place. Throws RUN_UNREADABLE, DISK_FAILED. */
export async function readJournalPart(
  file: FileHandle,
  path: string,
  place: JournalPlace,
  isSkipped: (line: string) => boolean = () => false,
): Promise<ReadPart> {
  return withDiskErrors(path, () => readExtent(file, path, { ...place, maxBytes: PART_BYTES }, isSkipped));
}

/**
 * Reads all events from a place, part by part, without the lines that `isSkipped` accepts. Throws RUN_UNREADABLE,
 * DISK_FAILED.
 */
export async function* readJournal(
  file: FileHandle,
  path: string,
  place: JournalPlace,
  isSkipped?: (line: string) => boolean,
): AsyncGenerator<JournalPart> {
  for (let { from, seq } = place; ;) {
    const part = await readJournalPart(file, path, { from, seq }, isSkipped);
    if (part.end > from) yield part;
    if (part.isLast || part.end === from) return;
    from = part.end;
    seq = part.seq;
  }
}

/** Parses one line of a journal. Throws RUN_UNREADABLE. */
function parseEvent(line: string, path: string): JournalEvent {
  let value: Partial<JournalEvent> | null;
  try {
    value = JSON.parse(line) as Partial<JournalEvent> | null;
  } catch (error) {
    throw unreadable(path, `the line "${line.slice(0, 60)}" is not JSON`, error);
  }
  if (typeof value?.seq !== 'number' || typeof value.type !== 'string')
    throw unreadable(path, `the line "${line.slice(0, 60)}" is not an event`);
  if (value.v !== JOURNAL_VERSION)
    throw unreadable(
      path,
      `event ${value.seq} has version ${String(value.v)}, but this version of halo supports ${JOURNAL_VERSION}`,
    );
  if (!isEventType(value.type))
    throw unreadable(
      path,
      `event ${value.seq} is "${value.type.slice(0, 60)}", which this version of halo does not support`,
    );
  return value as JournalEvent;
}

export function unreadable(path: string, what: string, cause?: unknown): HaloError {
  const hint = 'If another version of halo wrote it, use that version. Otherwise restore the file from a backup.';
  return new HaloError('RUN_UNREADABLE', `Could not read ${path}: ${what}.`, { hint, cause });
}

/**
 * Appends events at `end` in one write, after truncating what a crash left there. When the write fails, none of the
 * events is kept. The caller holds the run's lock. Returns the new end of the file.
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

async function readBytes(file: FileHandle, { from, maxBytes }: Extent): Promise<Buffer> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(maxBytes, Math.max(0, size - from)));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Whether a line of a journal is an activity of an agent, by its beginning: parsing all of them would take most of the time. */
export function isActivity(line: string): boolean {
  return ACTIVITY.test(line);
}

const ACTIVITY = /^\{"v":\d+,"seq":\d+,"at":"[^"]*","type":"agent\.activity"/;
