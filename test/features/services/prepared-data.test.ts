import { describe, expect, it } from 'vitest';
import { dataFolder, dataKeyText, type DataParts } from '../../../src/features/services/core/prepared-data.ts';
import { findServiceFaults } from '../../../src/features/services/core/service.ts';

const PARTS: DataParts = {
  service: {
    command: undefined,
    env: { A: '1', B: '2' },
    prepare: ['npm run migrate'],
    prepareFiles: ['migrations/**'],
  },
  images: ['sha256:db', 'sha256:node'],
  architecture: 'x64',
  user: 999,
  folder: '/data',
  setup: ['npm ci'],
  env: { CI: 'true', NODE_ENV: 'test' },
  surroundings: { network: [] },
  files: [
    ['migrations/1.sql', '100644', 'a'],
    ['migrations/2.sql', '100644', 'b'],
  ],
};

describe('the key of prepared data', () => {
  const { service } = PARTS;
  it.each<[string, Partial<DataParts>]>([
    ['the image of the service', { images: ['sha256:other', 'sha256:node'] }],
    ['the image of the commands', { images: ['sha256:db', 'sha256:other'] }],
    ['the architecture', { architecture: 'arm64' }],
    ['the user', { user: 998 }],
    ['the folder', { folder: '/other' }],
    ['setup', { setup: [] }],
    ['a setting of the network', { surroundings: { network: ['npm'] } }],
    ['a variable', { env: { CI: 'true' } }],
    ['a variable of the service', { service: { ...service, env: {} } }],
    ['its command', { service: { ...service, command: ['postgres'] } }],
    ['prepare', { service: { ...service, prepare: ['npm run migrate', 'npm run seed'] } }],
    ['the globs', { service: { ...service, prepareFiles: undefined } }],
    ['the content of a file', { files: [['migrations/1.sql', '100644', 'c'], PARTS.files[1]!] }],
    ['a new file', { files: [...PARTS.files, ['migrations/3.sql', '100644', 'c']] }],
    ['whether a file is a program', { files: [['migrations/1.sql', '100755', 'a'], PARTS.files[1]!] }],
  ])('differs with %s', (_, other) => expect(dataKeyText({ ...PARTS, ...other })).not.toBe(dataKeyText(PARTS)));

  it('is the same in any order of variables and files', () => {
    const other = { ...PARTS, env: { NODE_ENV: 'test', CI: 'true' }, files: [...PARTS.files].reverse() };
    expect(dataKeyText({ ...other, service: { ...service, env: { B: '2', A: '1' } } })).toBe(dataKeyText(PARTS));
  });
});

describe('the folder that is prepared', () => {
  const of = (data: string | undefined, volumes: string[]) => dataFolder({ name: 'db', image: 'mongo', data }, volumes);
  it('is the declared one, or the only VOLUME of the image', () => {
    expect(of('/data/db', ['/data/configdb', '/data/db'])).toEqual({ folder: '/data/db' });
    expect(of(undefined, ['/data'])).toEqual({ folder: '/data' });
  });

  it('must be declared otherwise', () => {
    expect([of(undefined, []), of(undefined, ['/data/configdb', '/data/db'])]).toEqual([
      { fault: 'services.db.prepare needs a folder with the data: the image mongo has no VOLUME' },
      { fault: 'services.db.prepare needs a folder with the data: the image mongo has the VOLUMEs /data/configdb, /data/db' }, // prettier-ignore
    ]);
  });
});

it('prepare needs data in a folder, and prepare_files need prepare', () => {
  const faults = findServiceFaults({
    db: { image: 'postgres', data: 'tmpfs', prepare: ['true'] },
    cache: { image: 'redis', prepareFiles: ['seed/**'] },
  });
  expect(faults.map(({ path, message }) => `${path.join('.')} ${message}`)).toEqual([
    'db.prepare needs data in a folder, not "tmpfs"',
    'cache.prepare_files needs prepare',
  ]);
});
