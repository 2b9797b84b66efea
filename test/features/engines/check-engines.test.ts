import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Finding } from '../../../src/api/doctor/doctor-finding.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { checkEngines } from '../../../src/features/engines/api/check-engines.ts';
import { tempDir } from '../../support/temp-dir.ts';

const connection: Finding = { name: 'connection', ok: 'ok', says: 'unix:///a, Docker 26' };

/** What is found of the engines `a` and `b`, of which `a` works. */
async function check(b: () => Promise<Finding[]>): Promise<Finding[]> {
  const home = tempDir();
  const table = (name: string) => `[[engines]]\nname = "${name}"\naddress = "unix:///${name}"\n`;
  writeFileSync(join(home, 'config.toml'), table('a') + table('b'));
  const checkEngine = (_home: string, name: string) => (name === 'a' ? Promise.resolve([connection]) : b());
  return checkEngines(home, { check: checkEngine, deadlineMs: 20 });
}

const WORKS: Finding = { name: 'engine a', ok: 'ok', says: 'unix:///a, Docker 26' };

test.each<[string, () => Promise<Finding[]>, Finding[]]>([
  [
    'with a warning works',
    () => Promise.resolve([connection, { name: 'image', ok: 'warn', says: 'other', fix: 'push' }]),
    [
      { name: 'engine b', ok: 'ok', says: 'unix:///a, Docker 26' },
      { name: 'engine b: image', ok: 'warn', says: 'other', fix: 'push' },
    ],
  ],
  [
    'with a failure has only what is wrong',
    () => Promise.resolve([connection, { name: 'image', ok: 'fail', says: 'is not there' }]),
    [{ name: 'engine b: image', ok: 'fail', says: 'is not there' }],
  ],
  [
    'that does not answer fails at the deadline',
    () => new Promise(() => undefined),
    [{ name: 'engine b', ok: 'fail', says: 'its checks have not ended after 0.02 s', fix: 'halo engine check b' }],
  ],
  [
    'without its certificate fails with the reason',
    () => Promise.reject(new HaloError('CONFIG_INVALID', 'ca.pem cannot be read.', { hint: 'Name it.' })),
    [{ name: 'engine b', ok: 'fail', says: 'ca.pem cannot be read.', fix: 'Name it.' }],
  ],
])('an engine %s, whatever the others do', async (_what, b, found) => {
  expect(await check(b)).toEqual([WORKS, ...found]);
});

test('without engines in config.toml nothing is said', async () => expect(await checkEngines(tempDir())).toEqual([]));

test('what is wrong with several engines is said once, with their names', async () => {
  const home = tempDir();
  const names = ['a', 'b', 'c'];
  writeFileSync(
    join(home, 'config.toml'),
    names.map((name) => `[[engines]]\nname = "${name}"\naddress = "unix:///${name}"\n`).join(''),
  );
  const old: Finding = { name: 'runc', ok: 'warn', says: 'is old', fix: 'update' };
  const check = (_home: string, name: string) => Promise.resolve(name === 'b' ? [connection] : [connection, old]);
  expect(await checkEngines(home, { check })).toEqual([
    ...['a', 'b', 'c'].flatMap((name) => [
      { ...connection, name: `engine ${name}` },
      ...(name === 'a' ? [{ ...old, name: 'engines a, c: runc' }] : []),
    ]),
  ]);
});
