import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import * as z from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import { createFolders, readRegularText } from '../../lib/fs.ts';
import { errorCode } from '../error-responses.ts';

const MAX_BYTES = 128 * 1024 * 1024;

const header = z.object({ halo_cassette: z.literal(1) });

const exchange = z.object({
  /** Order of arrival, from 1. */
  seq: z.number().int().positive(),
  request: z.object({
    method: z.string(),
    path: z.string(),
    model: z.string(),
    toolResults: z.number().int(),
    digest: z.string(),
    body: z.unknown(),
  }),
  response: z.object({
    status: z.number().int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
    /** false: the connection broke off after `body`. */
    complete: z.boolean(),
    /** For each event of a stream, the ms from the request to its end; only when timing was recorded. */
    times: z.array(z.number().nonnegative()).optional(),
  }),
});

/** One request and its response, as a line of a cassette. */
export type Exchange = z.infer<typeof exchange>;

const message = z.object({
  message: z.object({
    id: z.string(),
    by: z.string(),
    text: z.string(),
    /** The seq of the last response before it became part of a request; 0: it was part of the first one. */
    after: z.number().int().nonnegative(),
  }),
});

/** A message of a person to the agent while it worked, as a line of a cassette. */
export type CassetteMessage = z.infer<typeof message>['message'];

interface Cassette {
  /** In order of arrival. */
  exchanges: Exchange[];
  /** In the order in which the agent got them. */
  messages: CassetteMessage[];
}

/** Reads a cassette. Throws CASSETTE_MISSING when it is missing or invalid. */
export async function readCassette(path: string): Promise<Cassette> {
  const lines = (await readCassetteText(path)).split('\n').filter((line) => line.trim() !== '');
  const [first, ...rest] = lines.map((line, index) => parseLine(line, { path, number: index + 1 }));
  if (!header.safeParse(first).success) throw broken(path, 'its first line is not a cassette header of version 1');
  const messages: CassetteMessage[] = [];
  const exchanges = rest.flatMap((value, index) => {
    const spoken = message.safeParse(value);
    if (spoken.success) {
      messages.push(spoken.data.message);
      return [];
    }
    const parsed = exchange.safeParse(value);
    if (parsed.success) return [parsed.data];
    throw broken(path, `line ${index + 2}: ${parsed.error.issues[0]?.path.join('.')} is wrong`);
  });
  return { exchanges: exchanges.sort((a, b) => a.seq - b.seq), messages };
}

/** Creates a cassette that only its owner can read. Throws DISK_FAILED. */
export async function createCassette(path: string, { api }: { api: string }): Promise<CassetteWriter> {
  try {
    await createFolders(dirname(path));
    const file = await open(path, 'w', 0o600);
    await file.appendFile(`${JSON.stringify({ halo_cassette: 1, api })}\n`);
    return new CassetteWriter(file);
  } catch (error) {
    const message = `The cassette ${path} could not be written (${errorCode(error) ?? 'unknown'}).`;
    throw new HaloError('DISK_FAILED', message, { cause: error });
  }
}

/** Writes completed exchanges; `close` makes them durable. */
export class CassetteWriter {
  private readonly file: FileHandle;
  private last: Promise<void> = Promise.resolve();

  constructor(file: FileHandle) {
    this.file = file;
  }

  write(line: Exchange | { message: CassetteMessage }): Promise<void> {
    this.last = this.last.then(() => this.file.appendFile(`${JSON.stringify(line)}\n`));
    return this.last;
  }

  async close(): Promise<void> {
    try {
      await this.last;
      await this.file.sync();
    } finally {
      await this.file.close();
    }
  }
}

async function readCassetteText(path: string): Promise<string> {
  try {
    return await readRegularText(path, MAX_BYTES);
  } catch (error) {
    const why = errorCode(error) ?? (error as Error).message;
    throw new HaloError('CASSETTE_MISSING', `The cassette ${path} could not be read (${why}).`, {
      hint: 'Record one with `-c model.mode=record`, or set model.cassettes to its folder.',
      cause: error,
    });
  }
}

function parseLine(line: string, at: { path: string; number: number }): unknown {
  const value = parseUntrustedJson(line);
  if (value === undefined) throw broken(at.path, `line ${at.number} is not JSON or is too large`);
  return value;
}

function broken(path: string, why: string): HaloError {
  return new HaloError('CASSETTE_MISSING', `The file ${path} is not a cassette that can be replayed: ${why}.`, {
    hint: `Record ${basename(path)} again with \`-c model.mode=record\`.`,
  });
}
