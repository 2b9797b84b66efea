import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEngineAddress, requireEngine } from '../../src/config/engine-address.ts';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { tempDir } from '../support/temp-dir.ts';

const resolve = (text: string) =>
  resolveConfig({ cwd: '/', home: parseConfigFile('/home/ada/.halo/config.toml', text) }).engines;
const engine = (rest: string) => resolve(`[[engines]]\nname = "a"\n${rest}`);
const tcp = 'address = "tcp://a.example.com:2376"';

test('engines come from config.toml of HALO_HOME; without a table there are none', () => {
  expect(resolve('')).toEqual([]);
  expect(engine(`${tcp}\nslots = 4\nlabels = ["gpu"]\nrepositories = ["/srv/*"]\nusers = ["ada"]`)).toEqual([
    {
      ...{ name: 'a', address: 'tcp://a.example.com:2376', slots: 4 },
      ...{ labels: ['gpu'], repositories: ['/srv/*'], users: ['ada'] },
    },
  ]);
});

test.each([
  ['a name with a slash', '[[engines]]\nname = "a/b"\naddress = "unix:///a.sock"', 'small letters'],
  [
    'the name of the engine of the environment',
    '[[engines]]\nname = "local"\naddress = "unix:///a"',
    'environment names',
  ],
  ['a name twice', '[[engines]]\nname = "a"\naddress = "unix:///a"\n'.repeat(2), 'with the same name'],
  ['no address', '[[engines]]\nname = "a"', 'engines[0].address: must be a string'],
  ['plain HTTP', '[[engines]]\nname = "a"\naddress = "http://a:2375"', 'which is always TLS'],
  ['ssh', '[[engines]]\nname = "a"\naddress = "ssh://root@a"', 'which is always TLS'],
  ['an address without a port', '[[engines]]\nname = "a"\naddress = "tcp://a"', 'must be like'],
  ['a relative socket', '[[engines]]\nname = "a"\naddress = "unix://a.sock"', 'must be like'],
  ['a certificate without its key', `[[engines]]\nname = "a"\n${tcp}\nca = "/ca"\ncert = "/c"`, 'or none of the three'],
  ['a relative certificate', `[[engines]]\nname = "a"\n${tcp}\nca = "ca"`, 'must be an absolute path'],
  [
    'a certificate of a socket',
    '[[engines]]\nname = "a"\naddress = "unix:///a"\nca = "/c"',
    'is a socket of this machine',
  ],
  ['no slots', `[[engines]]\nname = "a"\n${tcp}\nslots = 0`, 'from 1 to 1000'],
  ['a label with a space', `[[engines]]\nname = "a"\n${tcp}\nlabels = ["a b"]`, 'must be a label'],
  ['an unknown key', `[[engines]]\nname = "a"\n${tcp}\ntls = false`, 'tls'],
])('an engine with %s is refused', (_what, text, problem) => {
  expect(() => resolve(text)).toThrow(problem);
});

describe('the address of an engine', () => {
  test('of a socket needs no certificate', async () => {
    const [found] = resolve('[[engines]]\nname = "a"\naddress = "unix:///a.sock"');
    expect(found && (await readEngineAddress('/nowhere', found))).toEqual({ name: 'a', address: 'unix:///a.sock' });
  });

  test("has the certificates of halo's own authority, or those of its table", async () => {
    const home = tempDir();
    mkdirSync(join(home, 'engines/a'), { recursive: true });
    for (const name of ['ca', 'client', 'client-key']) writeFileSync(join(home, 'engines/a', `${name}.pem`), name);
    const [own] = engine(tcp);
    const expected = {
      name: 'a',
      address: 'tcp://a.example.com:2376',
      tls: { ca: 'ca', cert: 'client', key: 'client-key' },
    };
    expect(own && (await readEngineAddress(home, own))).toEqual(expected);
    writeFileSync(join(home, 'engines/a/fingerprint'), 'cd\n');
    expect(own && (await readEngineAddress(home, own)).tls?.fingerprint).toBe('cd');
    for (const name of ['c', 'd', 'e']) writeFileSync(join(home, name), `other ${name}`);
    const print = 'ab'.repeat(32);
    const files = `ca = "${home}/c"\ncert = "${home}/d"\nkey = "${home}/e"\nfingerprint = "${print}"`;
    const [other] = engine(`${tcp}\n${files}`);
    const address = other && (await readEngineAddress(home, other));
    expect(address?.tls).toEqual({ ca: 'other c', cert: 'other d', key: 'other e', fingerprint: print });
  });

  test('without its certificates is an error that names the file', async () => {
    const [found] = engine(tcp);
    await expect(readEngineAddress('/nowhere', found!)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'Engine a: /nowhere/engines/a/ca.pem cannot be read (ENOENT).',
    });
  });

  test('of an unknown engine is an error with the closest name', async () => {
    const home = tempDir();
    writeFileSync(join(home, 'config.toml'), '[[engines]]\nname = "build-2"\naddress = "unix:///a"\n');
    expect(await requireEngine(home, 'build-2')).toMatchObject({ address: 'unix:///a' });
    await expect(requireEngine(home, 'build2')).rejects.toMatchObject({
      message: 'There is no engine "build2"; did you mean "build-2"?',
    });
  });
});
