import type { FileHandle } from 'node:fs/promises';
import { HaloError } from '../core/errors.ts';
import { JOURNAL_VERSION, type JournalEvent } from '../core/events.ts';

/** Events read from a journal, and the place (in bytes) where its last whole line ends. */
export interface JournalPart {
  events: JournalEvent[];
  end: number;
}

/**
 * Reads the events from byte `from` on, which must be the start of a line. A last line without its newline
 * is being written or was torn by a crash, and does not count. Throws RUN_UNREADABLE.
 */
export async function readJournalPart(file: FileHandle, path: string, from: number): Promise<JournalPart> {
  const bytes = await readAll(file, from);
  const length = bytes.lastIndexOf(0x0a) + 1;
  const lines = bytes.toString('utf8', 0, length).split('\n').slice(0, -1);
  return { events: lines.map((line) => parseEvent(line, path)), end: from + length };
}

/** One line of a journal as an event. Throws RUN_UNREADABLE. */
export function parseEvent(line: string, path: string): JournalEvent {
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
  return value as JournalEvent;
}

export function unreadable(path: string, what: string, cause?: unknown): HaloError {
  const hint = 'If another version of halo wrote it, use that one; otherwise restore the file from a backup.';
  return new HaloError('RUN_UNREADABLE', `Could not read ${path}: ${what}.`, { hint, cause });
}

/** Adds events at `end` in one write, after cutting off what a crash left there. The caller holds the run's lock. */
export async function appendEvents(file: FileHandle, part: JournalPart, durable: boolean): Promise<number> {
  const bytes = Buffer.from(part.events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  if ((await file.stat()).size > part.end) await file.truncate(part.end);
  await file.writeFile(bytes);
  if (durable) await file.datasync();
  return part.end + bytes.length;
}

async function readAll(file: FileHandle, from: number): Promise<Buffer> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.max(0, size - from));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}
