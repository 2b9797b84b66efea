import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'; // prettier-ignore
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RegistryName } from '../../../src/core/journal/egress-events.ts';
import { RegistryCache } from '../../../src/gateway/registry/registry-cache.ts';
import type { RegistryRoute } from '../../../src/gateway/registry/registries.ts';
import { openCredential } from '../../../src/gateway/registry/upstream-credentials.ts';
import { ask } from '../../gateway/client.ts';
import { gateway, httpServer } from '../../gateway/fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

const GZIP = '\x1f\x8b and so on';
const PATH = '/a/-/a-1.0.0.tgz';
const MIB = 1024 ** 2;

type Reply = (req: IncomingMessage, res: ServerResponse) => void;
const send = (body: string): Reply => (_req, res) => void res.end(Buffer.from(body, 'latin1')); // prettier-ignore

/** A registry that can change what it says, with the paths that it was asked for. */
async function registry(reply: Reply = send(GZIP)) {
  const server = { reply, asked: [] as string[], host: '' };
  server.host = await httpServer((req, res) => {
    server.asked.push(req.url ?? '');
    server.reply(req, res);
  });
  return server;
}

interface Access extends Partial<RegistryRoute> {
  dir?: string;
  maxBytes?: number;
}

/** One gateway per command, as in runs; all of them share the cache in `dir`. */
function home(host: string, { dir = tempDir('halo-cache'), maxBytes = 100 * MIB, ...route }: Access = {}) {
  const name: RegistryName = route.name ?? 'npm';
  const cache = new RegistryCache(dir);
  const open = async (more: Partial<RegistryRoute> = {}) => {
    const registries = [{ name, upstream: `http://${host}`, hosts: [], named: true, ...route, ...more }];
    const gate = await gateway({ registries, archives: { cache, maxBytes } });
    const get = async (path = PATH, headers: Record<string, string> = {}, method = 'GET') => {
      const at = `/~${name}/${host}${path}`;
      const answer = await ask(gate.socket, { method, path: at, body: undefined, headers: { host: '127.0.0.1:4080', ...headers } }); // prettier-ignore
      return answer.status === 200 ? answer.body : answer.status;
    };
    return Object.assign(get, { close: () => gate.close() });
  };
  const once = async (path?: string, headers?: Record<string, string>, method?: string) => {
    const get = await open();
    // An archive is kept after its last byte was sent, and before the gateway has closed.
    // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
    return get(path, headers, method).finally(() => get.close());
  };
  return { dir, cache, open, once };
}

const filesOf = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
const contentsOf = (dir: string) => filesOf(dir).filter((path) => path.includes('/sha256/'));

describe('the cache of registry archives', () => {
  it('serves an archive to later commands without the registry', async () => {
    const server = await registry();
    const { once, dir } = home(server.host);
    const text = await once();
    expect(server.asked).toEqual([PATH]);
    server.reply = (_req, res) => void res.destroy();
    expect(await once()).toBe(text);
    expect(server.asked).toEqual([PATH]);
    const hash = createHash('sha256').update(Buffer.from(GZIP, 'latin1')).digest('hex');
    expect(contentsOf(dir).map((path) => path.split('/').at(-1))).toEqual([hash]);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  it.each<[RegistryName, string, string]>([
    ['pypi', '/packages/a-1.0-py3-none-any.whl', 'PK wheel'],
    ['pypi', '/packages/a-1.0.tar.gz', GZIP],
    ['crates', '/crates/a/1.0.0/download', GZIP],
    ['go', '/example.com/m/@v/v1.2.3.zip', 'PK module'],
    ['go', '/example.com/m/@v/v1.2.3.mod', 'module example.com/m\n'],
    ['debian', '/debian/pool/main/j/jq/jq_1.6_amd64.deb', '!<arch>\ndebian-binary'],
  ])('keeps archives of %s such as %s', async (name, path, body) => {
    const server = await registry(send(body));
    const { once } = home(server.host, { name });
    for (let nth = 0; nth < 2; nth++) expect(typeof (await once(path))).toBe('string');
    expect(server.asked).toHaveLength(1);
  });

  it.each<[RegistryName, string]>([
    ['npm', '/a'],
    ['npm', '/a/1.0.0'],
    ['npm', '/-/npm/v1/keys'],
    ['pypi', '/a/'],
    ['pypi', '/packages/a-1.0-py3-none-any.whl.metadata'],
    ['crates', '/config.json'],
    ['crates', '/ab/cd/abcd'],
    ['go', '/example.com/m/@v/list'],
    ['go', '/example.com/m/@latest'],
    ['go', '/example.com/m/@v/v1.2.3.info'],
    ['go', '/example.com/m/@v/main.zip'],
    ['debian', '/debian/dists/stable/InRelease'],
  ])('keeps no metadata of %s such as %s', async (name, path) => {
    const server = await registry(send('PK'));
    const { once, dir } = home(server.host, { name });
    for (let nth = 0; nth < 2; nth++) expect(await once(path)).toBe('PK');
    expect(server.asked).toHaveLength(2);
    expect(filesOf(dir)).toEqual([]);
  });

  it('stays below its maximum, without the archives that were not used for the longest time', async () => {
    const server = await registry((req, res) => void res.end(`\x1f\x8b${(req.url ?? '').padEnd(MIB)}`));
    server.reply = (req, res) => void res.end(Buffer.from(`\x1f\x8b${(req.url ?? '').padEnd(MIB)}`, 'latin1'));
    const { once, cache, dir } = home(server.host, { maxBytes: 6 * MIB });
    const pathOf = (nth: number) => `/a/-/a-${nth}.0.0.tgz`;
    for (let nth = 0; nth < 4; nth++) await once(pathOf(nth));
    for (const path of contentsOf(dir)) utimesSync(path, new Date(1000), new Date(1000));
    await once(pathOf(2));
    for (let nth = 4; nth < 8; nth++) await once(pathOf(nth));
    expect(await cache.size()).toBeLessThanOrEqual(6 * MIB);
    server.asked.length = 0;
    await once(pathOf(2));
    expect(server.asked).toEqual([]);
    await once(pathOf(0));
    expect(server.asked).toEqual([pathOf(0)]);
    // No file says where a removed archive is.
    expect(await cache.trim(0)).toBeGreaterThan(0);
    expect(filesOf(dir)).toEqual([]);
  });
});

describe('incident registry-cache: what the cache of registry archives returns', () => {
  it('is never what another credential received, or none', async () => {
    const server = await registry((req, res) => {
      const token = req.headers.authorization?.split(' ')[1];
      if (token === undefined) return void res.writeHead(401).end();
      res.end(Buffer.from(`${GZIP} for ${token}`, 'latin1'));
    });
    const { open } = home(server.host);
    const as = (token: string) => {
      const credential = openCredential(server.host, { scheme: 'bearer', user: '', token });
      return open({ credentials: [credential!] });
    };
    expect(await (await as('one'))()).toContain('for one');
    expect(await (await as('two'))()).toContain('for two');
    expect(await (await open())()).toBe(401);
    expect(server.asked).toHaveLength(3);
    expect(await (await as('one'))()).toContain('for one');
    expect(server.asked).toHaveLength(3);
  });

  it('is never what a redirect with another credential received', async () => {
    const server = await registry((req, res) => {
      if (req.url === PATH) return void res.writeHead(302, { location: '/private/a/-/a-1.0.0.tgz' }).end();
      res.end(Buffer.from(`${GZIP} ${req.headers.authorization}`, 'latin1'));
    });
    const { open, dir } = home(server.host);
    const credential = openCredential(`${server.host}/private`, { scheme: 'bearer', user: '', token: 'inner' });
    expect(await (await open({ credentials: [credential!] }))()).toContain('Bearer inner');
    expect(filesOf(dir)).toEqual([]);
    expect(await (await open())()).toContain('undefined');
  });

  it('is never a file that was changed, cut, or replaced by a link', async () => {
    const server = await registry();
    const { once, dir } = home(server.host);
    const text = await once();
    const damages: ((path: string) => void)[] = [
      (path) => writeFileSync(path, 'poison'),
      (path) => truncateSync(path, 3),
      (path) => truncateSync(path, 0),
      (path) => {
        rmSync(path);
        symlinkSync('/etc/passwd', path);
      },
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ];
    for (const [nth, damage] of damages.entries()) {
      damage(contentsOf(dir)[0]!);
      expect(await once()).toBe(text);
      expect(server.asked).toHaveLength(nth + 2);
      if (nth < damages.length - 1) expect(await once()).toBe(text);
      expect(server.asked).toHaveLength(nth + 2);
    }
  });

  it('is never the content of another file by a forged name', async () => {
    const server = await registry();
    const { once, dir } = home(server.host);
    await once();
    const [link] = filesOf(join(dir, 'urls'));
    rmSync(link!);
    for (const forged of ['../../x', '', 'f'.repeat(64)].map((name) => `${link!.split('.').slice(0, -1).join('.')}.${name.replaceAll('/', '%2f')}`)) writeFileSync(forged, ''); // prettier-ignore
    expect(await once()).toBe(await once());
    expect(server.asked).toHaveLength(2);
  });

  it.each<[string, Reply]>([
    ['an error', (_req, res) => void res.writeHead(404).end(Buffer.from(GZIP, 'latin1'))],
    ['a login page', send('<html>Sign in</html>')],
    ['nothing', send('')],
    [
      'half of it',
      (_req, res) => {
        res.writeHead(200, { 'content-length': 1000 });
        res.write(Buffer.from(GZIP, 'latin1'), () => res.destroy());
      },
    ],
  ])('is never an answer that is %s', async (_what, reply) => {
    const server = await registry(reply);
    const { once, dir } = home(server.host);
    await once().catch(() => undefined);
    expect(filesOf(dir)).toEqual([]);
    server.reply = send(GZIP);
    expect(await once()).toContain('and so on');
  });

  it('hazard 63: is not what a killed worker had of it, which is removed later', async () => {
    const server = await registry();
    const { once, dir } = home(server.host);
    const url = new URL(`http://${server.host}${PATH}`);
    const killed = await new RegistryCache(dir).write({ url, authorization: undefined, starts: /^/ }, MIB);
    killed!.through.resume().write(Buffer.from(GZIP, 'latin1').subarray(0, 5));
    const [part = ''] = filesOf(dir);
    await expect.poll(() => statSync(part).size).toBe(5);
    const text = await once();
    expect(text).toContain('and so on');
    expect(await once()).toBe(text);
    expect(server.asked).toEqual([PATH]);
    const later = new RegistryCache(dir);
    await later.trim(MIB);
    expect(filesOf(dir), 'its worker may be alive').toContain(part);
    utimesSync(part, 0, 0);
    await later.trim(MIB);
    expect(filesOf(dir)).not.toContain(part);
    expect(contentsOf(dir)).toHaveLength(1);
  });

  it('is not what a part of a file, or its headers, say', async () => {
    const server = await registry();
    const { once, dir } = home(server.host);
    await once(PATH, { range: 'bytes=0-1' });
    await once(PATH, {}, 'HEAD');
    expect(filesOf(dir)).toEqual([]);
  });

  it('is replaced when a command requests an archive again, as npm does after a wrong checksum', async () => {
    const server = await registry();
    const { once, open } = home(server.host);
    await once();
    server.reply = send(`${GZIP}, corrected`);
    const get = await open();
    expect(await get()).not.toContain('corrected');
    expect(await get()).toContain('corrected');
    await get.close();
    expect(await once()).toContain('corrected');
    expect(server.asked).toHaveLength(2);
  });

  it('is not from a connection that others can change', async () => {
    const server = await registry();
    const port = server.host.split(':')[1];
    const dir = tempDir('halo-cache');
    const registries = [{ name: 'npm' as const, upstream: `http://npm.example:${port}`, hosts: [], named: true }];
    const lookup = () => Promise.resolve(['127.0.0.1']);
    const { socket } = await gateway({ registries, lookup, archives: { cache: new RegistryCache(dir), maxBytes: MIB } }); // prettier-ignore
    const path = `/~npm/npm.example:${port}${PATH}`;
    expect((await ask(socket, { method: 'GET', path, body: undefined })).status).toBe(200);
    expect(filesOf(dir)).toEqual([]);
  });

  it('does not stop an installation if the disk fails', async () => {
    const server = await registry();
    const dir = join(tempDir('halo-cache'), 'file');
    writeFileSync(dir, 'not a folder');
    expect(await home(server.host, { dir }).once()).toContain('and so on');
    expect(readFileSync(dir, 'utf8')).toBe('not a folder');
  });
});
