import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';

const TOKEN = 'canary-of-a-registry-20019385';
const WITH_TOKEN = { REGISTRY_TOKEN: TOKEN };

let home: HaloHome;
let server: Server;
let host: string;
/** Authorization headers by path, and what was asked without the token. */
const refused: string[] = [];
const elsewhere: { path: string; sent: string | undefined }[] = [];
/** Packages whose versions were asked for with the token. */
const described: string[] = [];

/** The archive of a package that returns `widget`. */
function packWidget(name: string): Buffer {
  const dir = tempDir('widget');
  mkdirSync(join(dir, 'package'));
  writeFileSync(join(dir, 'package/package.json'), `{"name": "${name}", "version": "1.0.0", "main": "index.js"}`);
  writeFileSync(join(dir, 'package/index.js'), 'module.exports = () => "widget";');
  return execFileSync('tar', ['-czf', '-', '-C', dir, 'package']);
}

beforeAll(async () => {
  home = openHome();
  const [archive, left] = [packWidget('@acme/widget'), packWidget('left')];
  server = createServer((req, res) => {
    const path = decodeURIComponent(req.url ?? '');
    if (!path.startsWith('/npm/')) {
      elsewhere.push({ path, sent: req.headers.authorization });
      if (path === '/group/left/-/left-1.0.0.tgz') return void res.end(left);
      return void res.end('{}');
    }
    if (req.headers.authorization !== `Bearer ${TOKEN}`) {
      refused.push(path);
      return void res.writeHead(401).end('{"error": "a token is required"}');
    }
    if (path.endsWith('.tgz')) return void res.end(archive);
    if (path === '/npm/@acme/moved') return void res.writeHead(302, { location: `http://${host}/stolen` }).end();
    described.push(path);
    const dist = { tarball: `http://${host}/npm/@acme/widget/-/widget-1.0.0.tgz` };
    const versions = { '1.0.0': { name: '@acme/widget', version: '1.0.0', main: 'index.js', dist } };
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ name: '@acme/widget', 'dist-tags': { latest: '1.0.0' }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await home.close();
  server.close();
});

/** Everything below a folder, with its path. */
function filesOf(dir: string): [string, string][] {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => [join(entry.parentPath, entry.name), readFileSync(join(entry.parentPath, entry.name), 'latin1')]); // prettier-ignore
}

function configure(more = ''): void {
  const scopes = `[network.scopes]\n"@acme" = "http://${host}/npm"\n`;
  const credentials = `[network.credentials."${host}/npm"]\ntoken_env = "REGISTRY_TOKEN"\n`;
  writeFileSync(join(home.dir, 'config.toml'), `${scopes}${credentials}${more}`);
}

/** Sends paths to the gateway as they are written; those of packages are below that of the registry. */
const GET = `
const { hostname, port, pathname } = new URL(process.env.npm_config_registry);
for (const each of require('./paths.json')) {
  const path = each.startsWith('@') ? pathname + each : each;
  require('node:http').get({ hostname, port, path }, (res) => res.resume());
}
`;

/** What must not get the token; only the first one is sent to the registry, which redirects it. */
const ELSEWHERE = () => [
  '@acme%2fmoved',
  `/~npm/${host}/stolen/a/-/a-1.0.0.tgz`,
  `/~npm/${host}/npm/../stolen/-/a-1.0.0.tgz`,
  `/~npm/${host}/npm/%2e%2e/stolen/-/a-1.0.0.tgz`,
];

const LOCK = () =>
  JSON.stringify({
    name: 'shop',
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': { name: 'shop', dependencies: { '@acme/widget': '1.0.0', left: '1.0.0' } },
      'node_modules/@acme/widget': { version: '1.0.0', resolved: `http://${host}/npm/@acme/widget/-/widget-1.0.0.tgz` },
      'node_modules/left': { version: '1.0.0', resolved: 'https://art.example/api/npm/x/left/-/left-1.0.0.tgz' },
    },
  });

async function run(files: Record<string, string>, setup: string[], env: Record<string, string>, gate = 'true') {
  const repository = newRepository({ '.gitignore': 'node_modules/\n', ...files });
  const file = join(repository.root, '../prd.json');
  writeFileSync(file, prdOf([{ id: 'A' }]).bytes);
  const settings = scripted(
    `env; echo x > x; ${OK}`,
    [gate],
    [`setup=${JSON.stringify(setup)}`, 'network.registries=["npm"]', 'snapshot.inputs=["package-lock.json"]'],
  );
  const options = settings.flatMap((setting) => ['-c', setting]);
  const ended = await home.halo(['run', file, ...options], { cwd: repository.root, env });
  return { ...ended, repository };
}

describe('incident registry-token: the token of a private registry', () => {
  it('installs its packages, also those that a lockfile names by URL, and is in no container, file or output', async () => {
    configure(`[network.upstreams]\nnpm = "http://${host}/group"\n`);
    const look = 'cat /proc/self/environ ~/.npmrc /run/halo/* 2> /dev/null; true';
    const gate = `node -e 'process.exit(require("@acme/widget")() === require("left")() ? 0 : 1)'`;
    const files = {
      'package.json': '{"name": "shop", "private": true, "dependencies": {"@acme/widget": "1.0.0", "left": "1.0.0"}}',
      'package-lock.json': LOCK(),
      'get.cjs': GET,
      'paths.json': JSON.stringify(['@acme%2fwidget', ...ELSEWHERE()]),
    };
    const setup = ['npm ci', look, 'node get.cjs'];
    const ended = await run(files, setup, WITH_TOKEN, gate);
    expect(ended.stderr + ended.stdout).toContain('1 of 1 stories passed');
    expect(refused).toEqual([]);
    expect(described).toContain('/npm/@acme/widget');
    const texts = [['output', ended.stdout + ended.stderr] as const, ...filesOf(home.dir)];
    for (const spelling of [TOKEN, Buffer.from(TOKEN).toString('base64').slice(0, -2)])
      expect(texts.filter(([, text]) => text.includes(spelling)).map(([name]) => name)).toEqual([]);
  });

  it('is not sent to another path, to where a registry redirects, or to what a sandbox asks for', () => {
    expect(elsewhere.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/stolen', '/group/left/-/left-1.0.0.tgz']),
    );
    expect(elsewhere.filter(({ sent }) => sent !== undefined)).toEqual([]);
  });

  it('cannot be redirected by the file of a repository', skipFor(belowFull()), async () => {
    configure();
    const evil = `[network.scopes]\n"@acme" = "http://evil.example"\n[network.credentials."evil.example"]\ntoken_env = "REGISTRY_TOKEN"\n`;
    const ended = await run({ 'halo.toml': evil }, ['true'], WITH_TOKEN);
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toContain('network.scopes.@acme: only config.toml of HALO_HOME may set it');
  });

  it('a token that is missing fails the story with the name of the variable, before setup runs', async () => {
    configure();
    const ended = await run({}, ['npm view @acme/widget'], {});
    expect(ended.code).not.toBe(0);
    expect(ended.stdout + ended.stderr).toContain('The worker’s environment does not have REGISTRY_TOKEN.');
  });
});
