import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { addEngine, removeEngine } from '../../../src/features/engines/api/add-engine.ts';
import { addJoinRoutes } from '../../../src/features/engines/api/join-route.ts';
import { beginRekey } from '../../../src/features/engines/api/rekey-engine.ts';
import { readEngines } from '../../../src/config/host-rules.ts';
import { findFiles } from '../../../src/features/backup/store/read-home.ts';
import { joinMac } from '../../../src/features/engines/core/join.ts';
import { keyFingerprint } from '../../../src/lib/network/certificate-authority.ts';
import { EngineKeys } from '../../../src/features/engines/store/engine-keys.ts';
import { ObjectsVolumeFiles } from '../../../src/store/objects-volume-files.ts';
import { SnapshotFiles } from '../../../src/store/snapshot-files.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NOW = new Date('2030-01-01T12:00:00Z');

/** A machine that has made its key. */
function machine(subject = '/CN=build-2', ...more: string[]) {
  const dir = tempDir();
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem'];
  execFileSync('openssl', ['req', '-new', ...key, '-subj', subject, ...more, '-out', 'csr.pem'], { cwd: dir, stdio: 'pipe' }); // prettier-ignore
  const pem = readFileSync(join(dir, 'csr.pem'), 'utf8');
  return { file: join(dir, 'csr.pem'), csr: pem.replace(/-----[^-]+-----|\n/g, '') };
}

function openServer(home: string) {
  let refused = 0;
  const counted = () => Promise.resolve(void (refused += 1));
  const app = fastify();
  addJoinRoutes(app, { home, limits: { countRefused: counted, countRequest: counted, countSignIn: counted } });
  const send = (payload: object) => app.inject({ method: 'POST', url: '/engines/join', payload });
  return { send, app, refused: () => refused };
}

describe('an added engine', () => {
  it('has an entry in config.toml, whose other text stays, and a command for its machine', async () => {
    const home = tempDir();
    writeFileSync(join(home, 'config.toml'), '# ours\n[fleet]\nmax = 3 # few\n', { mode: 0o644 });
    const entry = { name: 'build-2', address: 'tcp://10.1.2.3:2376', slots: 4, labels: ['gpu'], users: ['ada'] };
    const added = await addEngine(home, { ...entry, server: 'https://halo.example.com/' }, NOW);
    expect(readFileSync(join(home, 'config.toml'), 'utf8')).toBe(
      '# ours\n[fleet]\nmax = 3 # few\n\n[[engines]]\nname = "build-2"\naddress = "tcp://10.1.2.3:2376"\nslots = 4\nlabels = ["gpu"]\nusers = ["ada"]\n',
    );
    expect(statSync(join(home, 'config.toml')).mode & 0o777).toBe(0o644);
    expect(added.expiresAt).toBe('2030-01-01T13:00:00.000Z');
    expect(added.command).toMatch(
      /^curl -fsS -o halo-join\.sh https:\/\/halo\.example\.com\/engines\/join\.sh && echo "[0-9a-f]{64} {2}halo-join\.sh" \| sha256sum -c --quiet && \$\(\[ "\$\(id -u\)" = 0 \] \|\| echo sudo\) sh halo-join\.sh build-2 tcp:\/\/10\.1\.2\.3:2376 https:\/\/halo\.example\.com [0-9a-f]{48} [0-9a-f]{64}$/,
    );
    const again = await addEngine(home, { name: 'build-2', server: 'https://halo.example.com' }, NOW);
    expect(again.command).not.toBe(added.command);
    await removeEngine(home, 'build-2');
    expect(readFileSync(join(home, 'config.toml'), 'utf8').trimEnd()).toBe('# ours\n[fleet]\nmax = 3 # few');
    expect(existsSync(join(home, 'engines/build-2'))).toBe(false);
  });

  it('keeps what a further call does not name: also those whom alone it is for', async () => {
    const home = tempDir();
    const path = join(home, 'config.toml');
    await addEngine(home, { name: 'a', address: 'tcp://a:2376', slots: 4, users: ['ada'] });
    await addEngine(home, { name: 'a', address: 'tcp://b:2376', replace: true });
    expect(readFileSync(path, 'utf8')).toBe('[[engines]]\nname = "a"\naddress = "tcp://b:2376"\nslots = 4\nusers = ["ada"]\n'); // prettier-ignore
    await addEngine(home, { name: 'a', slots: 6, labels: ['gpu'] });
    expect(await readEngines(home)).toEqual([{ name: 'a', address: 'tcp://b:2376', slots: 6, labels: ['gpu'], users: ['ada'] }]); // prettier-ignore
  });

  it('becomes another machine only if that is confirmed, which has to join', async () => {
    const home = tempDir();
    await addEngine(home, { name: 'a', address: 'tcp://a:2376', csr: machine().file });
    const text = readFileSync(join(home, 'config.toml'), 'utf8');
    await expect(addEngine(home, { name: 'a', address: 'tcp://b:2376' })).rejects.toMatchObject({
      ...{ code: 'USAGE', message: 'The engine a has another address already: tcp://a:2376.' },
      hint: 'Use another name, or --replace if this machine takes its place.',
    });
    await expect(addEngine(home, { name: 'b', address: 'tcp://A:2376' })).rejects.toMatchObject({
      ...{ code: 'USAGE', message: 'tcp://A:2376 is already the engine a.' },
    });
    expect(readFileSync(join(home, 'config.toml'), 'utf8')).toBe(text);
    const keys = new EngineKeys(home);
    expect(await keys.fingerprint('a')).toMatch(/^[0-9a-f]{64}$/);
    await addEngine(home, { name: 'a', address: 'tcp://b:2376', replace: true });
    expect([await keys.fingerprint('a'), await keys.isCurrent('a')]).toEqual([undefined, true]);
    expect(await removeEngine(home, 'a')).toBe(false);
  });

  it('leaves no record of its snapshots when it is removed, whose volumes nothing could use', async () => {
    const home = tempDir();
    const snapshots = new SnapshotFiles(home);
    for (const name of ['a', 'b']) {
      await addEngine(home, { name, address: `tcp://${name}:2376` });
      const record = { v: 1 as const, engine: { name, id: 'x' }, key: 'a'.repeat(64), refused: 'too large', setup: [] };
      const made = { commit: 'c', run: 'r', createdAt: '2030-01-01T00:00:00Z' };
      await snapshots.publish({ mirror: 'shop', record: { ...record, ...made }, onlyRun: undefined });
    }
    await removeEngine(home, 'a');
    expect((await snapshots.list()).map(({ record }) => record.engine?.name)).toEqual(['b']);
  });

  it('leaves no record of volumes with objects when it is removed, whichever machines had its name', async () => {
    const home = tempDir();
    const commit = 'a'.repeat(40);
    const record = { v: 1 as const, volume: `halo-objects-${commit}`, commit, tags: [], boundary: '', bytes: 1, createdAt: '2030-01-01T00:00:00Z' }; // prettier-ignore
    const engines = [{ name: 'a', id: 'old' }, { name: 'a', id: 'new' }, { name: 'b', id: 'new' }]; // prettier-ignore
    for (const name of ['a', 'b']) await addEngine(home, { name, address: `tcp://${name}:2376` });
    for (const engine of engines)
      await new ObjectsVolumeFiles(home, engine).publish('shop', { ...record, engine: engine.name });
    await removeEngine(home, 'a');
    const left = await Promise.all(engines.map((engine) => new ObjectsVolumeFiles(home, engine).list('shop')));
    expect(left.map((found) => found.map(({ record: { engine } }) => engine))).toEqual([[], [], ['b']]);
    expect(readdirSync(join(home, 'repos/shop/engines'))).toHaveLength(1);
  });

  it('leaves the comment of the next table where it is when it is removed', async () => {
    const home = tempDir();
    const path = join(home, 'config.toml');
    writeFileSync(
      path,
      '[[engines]]\nname = "a" # old\n# on loan\naddress = "unix:///a"\n\n# agreed on Monday\n[fleet]\nmax = 3\n',
    );
    await removeEngine(home, 'a');
    expect(readFileSync(path, 'utf8')).toBe('# agreed on Monday\n[fleet]\nmax = 3\n');
  });

  it('that has no table of its own is not removed, and keeps its keys', async () => {
    const home = tempDir();
    const text = 'engines = [{ name = "a", address = "tcp://a:1" }]\n';
    writeFileSync(join(home, 'config.toml'), text);
    await addEngine(home, { name: 'a' });
    await expect(removeEngine(home, 'a')).rejects.toThrow('The engine a has no [[engines]] table of its own');
    expect(readFileSync(join(home, 'config.toml'), 'utf8')).toBe(text);
    expect(existsSync(join(home, 'engines/a/client-key.pem'))).toBe(true);
  });

  it('has keys that only the owner of HALO_HOME can read', async () => {
    const home = tempDir();
    await addEngine(home, { name: 'a', address: 'tcp://a:2376' });
    const files = readdirSync(join(home, 'engines'), { recursive: true, withFileTypes: true });
    const modes = files.map((file) => (statSync(join(file.parentPath, file.name)).mode & 0o777).toString(8));
    expect(new Set(modes)).toEqual(new Set(['700', '600']));
    expect(statSync(join(home, 'engines')).mode & 0o777).toBe(0o700);
  });

  it('has keys that a backup saves, with those of the authority', async () => {
    const home = tempDir();
    await addEngine(home, { name: 'a', address: 'tcp://a:2376' });
    const { files, strange } = await findFiles(home, 'engines');
    expect(strange).toEqual([]);
    expect(files.map((file) => file.replace('engines/', ''))).toEqual([
      ...['ca-key.pem', 'ca.pem', 'client-key.pem', 'client.pem'].map((file) => `_authority/${file}`),
      ...['ca.pem', 'client-key.pem', 'client.pem'].map((file) => `a/${file}`),
    ]);
  });

  it('on a socket needs no certificate', async () => {
    const home = tempDir();
    expect(await addEngine(home, { name: 'a', address: 'unix:///run/a.sock' })).toEqual({
      name: 'a',
      address: 'unix:///run/a.sock',
    });
    expect(existsSync(join(home, 'engines'))).toBe(false);
  });

  it.each([
    {
      what: 'without an address',
      request: { name: 'a' },
      says: 'There is no engine "a" in config.toml, and no address for it.',
    },
    {
      what: 'with a wrong name',
      request: { name: 'A', address: 'tcp://a:1' },
      says: 'The name must be a name of at most 40 small letters, digits and hyphens.',
    },
    { what: 'without TLS', request: { name: 'a', address: 'http://a:1' }, says: /^--address must be like "tcp:/ },
    {
      what: 'with a wrong label',
      request: { name: 'a', address: 'tcp://a:1', labels: ['a b'] },
      says: /^--label must be a label/,
    },
    {
      what: 'with a strange server',
      request: { name: 'a', address: 'tcp://a:1', server: 'http://a;id' },
      says: '"http://a;id" is not the address of a server.',
    },
    {
      what: 'without a signing request',
      request: { name: 'a', address: 'tcp://a:1', csr: import.meta.filename },
      says: 'The signing request cannot be used: it is not a certificate signing request in PEM.',
    },
  ])('is refused $what', async ({ request, says }) => {
    const adding = addEngine(tempDir(), request);
    await expect(adding).rejects.toThrow(says);
    await expect(adding).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe('a machine that joins', () => {
  it('gets a certificate for its key and the name of its address, which is pinned', async () => {
    const home = tempDir();
    const added = await addEngine(home, { name: 'build-2', address: 'tcp://10.1.2.3:2376', server: 'http://h:7070' });
    const [, token = '', hash] = / ([0-9a-f]{48}) ([0-9a-f]{64})$/.exec(added.command ?? '') ?? [];
    const { csr } = machine();
    const server = openServer(home);
    const request = { name: 'build-2', csr, mac: joinMac({ name: 'build-2', csr }, token).toString('hex') };
    const { statusCode, body } = await server.send(request);
    expect(statusCode).toBe(200);
    const [cert, ca] = body.split(/(?<=-----END CERTIFICATE-----\n)/).map((pem) => new X509Certificate(pem));
    expect(ca?.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(hash);
    expect([cert?.verify(ca!.publicKey), cert?.subjectAltName, cert?.ca]).toEqual([true, 'IP Address:10.1.2.3', false]);
    expect(await new EngineKeys(home).fingerprint('build-2')).toBe(keyFingerprint(cert!.publicKey));
    // Its answer may have been lost, and a machine that joins again keeps what it has: so halo knows when that ends.
    expect(await server.send(request)).toMatchObject({ statusCode: 200, body });
    expect(await new EngineKeys(home).certificateEnd('build-2')).toEqual(new Date(cert!.validTo));
  });

  it('is not believed before it has shown that it was invited: its signing request is not parsed', async () => {
    const home = tempDir();
    await addEngine(home, { name: 'a', address: 'tcp://a:2376', server: 'http://h:7070' });
    const request = { name: 'a', csr: 'AAAA', mac: '0'.repeat(64) };
    expect(await new EngineKeys(home).join(request, { host: 'a', now: NOW })).toBeUndefined();
  });

  it('can use a signing request instead of HTTP', async () => {
    const home = tempDir();
    const { issued } = await addEngine(home, { name: 'a', address: 'tcp://a.example:2376', csr: machine().file });
    expect(new X509Certificate(issued!.cert).subjectAltName).toBe('DNS:a.example');
    // Its machine still listens.
    expect(await removeEngine(home, 'a')).toBe(true);
  });
});

describe('new keys for all engines', () => {
  it('are made once, until each engine has them', async () => {
    const home = tempDir();
    await expect(beginRekey(home)).rejects.toThrow('No engine of config.toml has certificates of halo.');
    for (const name of ['a', 'b']) await addEngine(home, { name, address: `tcp://${name}:2376` });
    await addEngine(home, { name: 'c', address: 'unix:///c' });
    const keys = new EngineKeys(home);
    const first = await keys.authority();
    expect(await beginRekey(home)).toEqual(['a', 'b']);
    const second = await keys.authority();
    expect(second).not.toBe(first);
    await keys.admit('a');
    expect(await beginRekey(home)).toEqual(['b']);
    expect(await keys.authority()).toBe(second);
    await keys.admit('b');
    expect(await beginRekey(home)).toEqual(['a', 'b']);
    expect(await keys.authority()).not.toBe(second);
  });
});
