import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { restoreBackup } from '../../../src/features/backup/api/restore.ts';
import { BACKUP_ID, backupOf, HEADER, tarOf, type TarEntry } from '../../support/tar-of.ts';
import { tempDir } from '../../support/temp-dir.ts';

const ID: TarEntry = { name: 'id', text: `${BACKUP_ID}\n` };
const REFS = (mirror: Record<string, string>, more: object = {}) =>
  JSON.stringify({ hexLength: 40, shallow: [], mirror, held: {}, ...more });
const COMMIT = '1'.repeat(40);

function restore(archive: Buffer, home: string) {
  const signal = new AbortController().signal;
  return restoreBackup(chunks(archive), { home, takeOver: false, signal, onProgress: () => undefined });
}

async function* chunks(archive: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < archive.length; at += 1000) yield await Promise.resolve(archive.subarray(at, at + 1000));
}

/** The declared size of an entry, without content that long. */
function oversized(archive: Buffer, name: string, bytes: number): Buffer {
  const tar = gunzipSync(archive);
  const at = tar.indexOf(`${name}\0`);
  tar.fill(0, at + 124, at + 136);
  tar.writeUInt8(0x80, at + 124);
  tar.writeBigUInt64BE(BigInt(bytes), at + 128);
  tar.write('        ', at + 148, 'latin1');
  const sum = tar.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
  return gzipSync(tar);
}

const NAMES = [
  ['a path that leaves the folder', '../escaped'],
  ['the same inside', 'users/../../escaped'],
  ['an absolute path', '/tmp/halo-escaped'],
  ['a name that only workers use', 'locks/x'],
  ['a folder of git', 'runs/0tbq1aaaaaaaaaaa/.git/hooks/x'],
  ['settings of git for a repository', 'repos/r/mirror.git/config'],
  ['a file of git beside the packs', 'repos/r/commondir'],
  ['a run without an id', 'runs/x/journal.jsonl'],
  ['a name that halo does not know', 'bashrc'],
  ['a control character', 'users/a\nb'],
  ['an empty part', 'users//x'],
  ['a very long path', `users/${'a'.repeat(2000)}`],
  ['a very deep path', `users/${'a/'.repeat(20)}x`],
  ['a property of every object', 'constructor/x'],
] as const;

const KINDS = ['symlink', 'link', 'character-device', 'block-device', 'fifo', 'directory'] as const;

const ARCHIVES: [what: string, archive: () => Promise<Buffer>, says: string][] = [
  ...NAMES.map(([what, name]): (typeof ARCHIVES)[number] => [
    what,
    () => backupOf([ID, { name, text: 'x' }]),
    'is not a file of a HALO_HOME',
  ]),
  ...KINDS.map((type): (typeof ARCHIVES)[number] => [
    `a ${type}`,
    () => backupOf([ID, { name: 'users/x', type, linkname: '/etc/passwd' }, { name: 'users/x/y', text: 'x' }]),
    'not a file',
  ]),
  ['a file twice', () => backupOf([ID, { name: 'users/x', text: 'a' }, { name: 'users/x', text: 'b' }]), 'twice'],
  ['a file in a file', () => backupOf([ID, { name: 'users/x', text: 'a' }, { name: 'users/x/y' }]), 'twice'],
  ['another id', () => backupOf([{ name: 'id', text: 'ffffffffffff\n' }]), 'its id is missing'],
  ['no id', () => backupOf([{ name: 'config.toml' }]), 'its id is missing'],
  ['an entry behind its end', () => backupOf([ID], { more: [{ name: 'config.toml' }] }), 'something follows its end'],
  [
    'a branch of the user',
    () => backupOf([ID, { name: 'repos/r/refs.json', text: REFS({ 'refs/heads/main': COMMIT }) }]),
    'the refs of repos/r cannot be read',
  ],
  [
    'a ref that leaves its folder',
    () => backupOf([ID, { name: 'repos/r/refs.json', text: REFS({ 'refs/halo/../../config': COMMIT }) }]),
    'the refs of repos/r cannot be read',
  ],
  [
    'a line in the place of a commit',
    () => backupOf([ID, { name: 'repos/r/refs.json', text: REFS({ 'refs/halo/x': `${COMMIT}\ncreate x` }) }]),
    'the refs of repos/r cannot be read',
  ],
  [
    'a pack that is none',
    () =>
      backupOf([
        ID,
        { name: 'repos/r/refs.json', text: REFS({ 'refs/halo/base/x': COMMIT }) },
        { name: 'repos/r/mirror.pack', text: 'PACK' },
      ]),
    'git refuses repos/r',
  ],
  ['a newer format', () => backupOf([ID], { header: { ...HEADER, format: 2 } }), 'A newer version of halo'],
  ['a newer journal', () => backupOf([ID], { header: { ...HEADER, journal: 99 } }), 'A newer version of halo'],
  ['another archive', () => tarOf([{ name: 'README', text: 'x' }]), 'This is not a backup'],
  ['no archive', () => Promise.resolve(Buffer.from('PRD')), 'This is not a backup'],
  ['nothing', () => Promise.resolve(Buffer.alloc(0)), 'The backup is damaged'],
  ['half of it', async () => (await backupOf([ID])).subarray(0, 200), 'its end is missing'],
  ['no manifest', () => tarOf([{ name: 'halo-backup.json', text: JSON.stringify(HEADER) }, ID]), 'its end is missing'],
];

describe('incident hostile-backups: a backup that was replaced or damaged', () => {
  it.each(ARCHIVES)('%s: refused, and nothing is restored', async (_what, archive, says) => {
    const home = join(tempDir('halo-hostile'), 'home');
    const message = expect.stringContaining(says) as string;
    await expect(restore(await archive(), home)).rejects.toMatchObject({ code: 'BACKUP_UNREADABLE', message });
    expect(readdirSync(home)).toEqual([]);
    expect(readdirSync(join(home, '..'))).toEqual(['home']);
    expect(existsSync('/tmp/halo-escaped')).toBe(false);
  });

  it('a changed byte of any file: refused', async () => {
    const tar = gunzipSync(await backupOf([ID, { name: 'users/ada.json', text: '{"role":"viewer"}' }]));
    tar.write('admins', tar.indexOf('viewer'));
    const home = tempDir('halo-hostile');
    await expect(restore(gzipSync(tar), home)).rejects.toMatchObject({ code: 'BACKUP_UNREADABLE' });
    expect(readdirSync(home)).toEqual([]);
  });

  it('more than the disk has: refused before it is written', async () => {
    const archive = oversized(await backupOf([ID, { name: 'users/x', text: 'x' }]), 'users/x', 2 ** 52);
    const home = tempDir('halo-hostile');
    const message = expect.stringContaining('The backup has more than the') as string;
    await expect(restore(archive, home)).rejects.toMatchObject({ code: 'DISK_FAILED', message });
    expect(readdirSync(home)).toEqual([]);
  });

  it('a folder that is not empty: refused, and unchanged', async () => {
    const home = tempDir('halo-hostile');
    writeFileSync(join(home, 'config.toml'), 'mine');
    await expect(restore(await backupOf([ID]), home)).rejects.toMatchObject({ code: 'USAGE' });
    expect([readdirSync(home), readFileSync(join(home, 'config.toml'), 'utf8')]).toEqual([['config.toml'], 'mine']);
  });
});
