import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { pack, type Header } from 'tar-stream';
import { FORMAT, HEADER_NAME, MANIFEST_NAME, manifestLine } from '../../src/features/backup/core/archive.ts';
import { JOURNAL_VERSION } from '../../src/core/journal/event-parts.ts';

/** An entry as anybody may write it. */
export type TarEntry = Partial<Header> & { name: string; text?: string };

export const BACKUP_ID = '0123456789ab';

/** The header of a backup that a stopped halo made elsewhere. */
export const HEADER = {
  format: FORMAT,
  halo: '0.1.0',
  journal: JOURNAL_VERSION,
  home: { id: BACKUP_ID, host: 'elsewhere', path: '/nowhere' },
  at: '2030-01-31T12:00:00.000Z',
  workers: 0,
  keys: false,
  artifacts: true,
};

/** An archive with these entries between a header and a manifest that fits all of them; `more` follows. */
export async function backupOf(
  entries: readonly TarEntry[],
  { header = HEADER, more = [] }: { header?: object; more?: readonly TarEntry[] } = {},
): Promise<Buffer> {
  const lines = entries.map(({ name, text = '' }) =>
    manifestLine({
      path: name,
      bytes: Buffer.byteLength(text),
      sha256: createHash('sha256').update(text).digest('hex'),
    }),
  );
  return tarOf([
    { name: HEADER_NAME, text: JSON.stringify(header) },
    ...entries,
    { name: MANIFEST_NAME, text: lines.join('') },
    ...more,
  ]);
}

/** A compressed archive with these entries. */
export async function tarOf(entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const { text = '', ...header } of entries) tar.entry(header, text);
  tar.finalize();
  const parts: Buffer[] = [];
  for await (const part of Readable.from(tar as AsyncIterable<Buffer>).pipe(createGzip())) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
