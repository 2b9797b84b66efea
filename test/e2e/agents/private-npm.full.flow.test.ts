import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { freePort } from '../../support/network/free-port.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

/** The newest versions that run on Node 20. */
const VERDACCIO = '6.8.0';
const PNPM = 'pnpm@9.15.9';

const CONFIG = `
storage: ./storage
auth: { htpasswd: { file: ./htpasswd, max_users: 10, algorithm: bcrypt, rounds: 4 } }
packages: { '**': { access: $authenticated, publish: $authenticated } }
middlewares: { audit: { enabled: false } }
web: { enable: false }
log: { type: stdout, level: fatal }
`;

let home: HaloHome;
let verdaccio: ChildProcess | undefined;
let dir: string;
let url: string;
let token: string;

beforeAll(async () => {
  home = openHome();
  dir = tempDir('verdaccio');
  // One of its dependencies names another one by a tag that not every mirror has.
  const overrides = { 'node-fetch': '2.7.0' };
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, overrides }));
  run('npm', ['install', '--no-save', `verdaccio@${VERDACCIO}`], dir);
  writeFileSync(join(dir, 'config.yaml'), CONFIG);
  url = `http://127.0.0.1:${await freePort()}`;
  const program = join(dir, 'node_modules/verdaccio/bin/verdaccio');
  verdaccio = spawn(process.execPath, [program, '--config', './config.yaml', '--listen', url], {
    cwd: dir,
    stdio: 'ignore',
  });
  token = await vi.waitFor(signUp, PATIENCE);
  publish('base', `module.exports = 'base';`, {});
  publish('widget', `module.exports = () => require('@acme/base') + ' widget';`, { '@acme/base': '1.0.0' });
  writeFileSync(join(dir, 'token'), `${token}\n`);
});
afterAll(async () => {
  verdaccio?.kill();
  await home.close();
});

function run(program: string, args: string[], cwd: string): string {
  const env = { ...process.env, npm_config_cache: join(dir, 'cache'), HOME: dir };
  return execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

async function signUp(): Promise<string> {
  const response = await fetch(`${url}/-/user/org.couchdb.user:ada`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'ada', password: 'a password of the test' }),
  });
  return ((await response.json()) as { token: string }).token;
}

/** What a person has in ~/.npmrc. */
const npmrc = () => `@acme:registry=${url}/\n//${new URL(url).host}/:_authToken=${token}\n`;

function publish(name: string, main: string, dependencies: Record<string, string>): void {
  const folder = join(dir, name);
  mkdirSync(folder);
  const about = { name: `@acme/${name}`, version: '1.0.0', main: 'index.js', dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(about));
  writeFileSync(join(folder, 'index.js'), main);
  writeFileSync(join(folder, '.npmrc'), npmrc());
  run('npm', ['publish'], folder);
}

/** A repository that needs both packages, with the lockfile that a developer commits. */
function makeShop(lock: string[]) {
  const folder = join(dir, `lock-${lock[0]}`);
  const manifest = JSON.stringify({ name: 'shop', private: true, dependencies: { '@acme/widget': '1.0.0' } });
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), manifest);
  writeFileSync(join(folder, '.npmrc'), npmrc());
  run(lock[0]!, lock.slice(1), folder);
  const file = lock[0] === 'npm' ? 'package-lock.json' : 'pnpm-lock.yaml';
  const text = readFileSync(join(folder, file), 'utf8');
  return newRepository({ '.gitignore': 'node_modules/\n', 'package.json': manifest, [file]: text });
}

const GATE = `node -e 'process.exit(require("@acme/widget")() === "base widget" ? 0 : 1)'`;

async function runStory(repository: { root: string }, setup: string) {
  const file = join(repository.root, '../prd.json');
  writeFileSync(file, prdOf([{ id: 'A' }]).bytes);
  const more = [`setup=${JSON.stringify([setup])}`, 'network.registries=["npm"]'];
  const options = scripted(`env; echo x > x; ${OK}`, [GATE], more).flatMap((setting) => ['-c', setting]);
  return home.halo(['run', file, ...options], { cwd: repository.root });
}

function configure(credential: string): void {
  writeFileSync(join(home.dir, 'config.toml'), `[network.scopes]\n"@acme" = "${url}"\n${credential}`);
}
const withToken = () =>
  configure(`[network.credentials."${new URL(url).host}"]\ntoken_file = "${join(dir, 'token')}"\n`);

describe('a registry of a company that requires a token, verdaccio', () => {
  it('installs its packages with npm ci, by the URLs of the lockfile, and the token is in no file', async () => {
    withToken();
    const repository = makeShop(['npm', 'install', '--package-lock-only', '--no-omit-lockfile-registry-resolved']);
    expect(readFileSync(join(repository.root, 'package-lock.json'), 'utf8')).toContain(`${url}/@acme/widget/-/`);
    const ended = await runStory(repository, 'npm ci');
    expect(ended.stdout + ended.stderr).toContain('1 of 1 stories passed');
    const files = readdirSync(home.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name));
    expect(paths.filter((path) => readFileSync(path, 'latin1').includes(token))).toEqual([]);
    expect(ended.stdout + ended.stderr).not.toContain(token);
  });

  it('installs its packages with pnpm', async () => {
    withToken();
    const repository = makeShop(['npx', '--yes', PNPM, 'install', '--lockfile-only']);
    const ended = await runStory(repository, `npx --yes ${PNPM} install --frozen-lockfile`);
    expect(ended.stdout + ended.stderr).toContain('1 of 1 stories passed');
  });

  it('fails setup without the token, with what the registry answered', async () => {
    configure('');
    const repository = newRepository({ 'package.json': '{"name": "shop"}' });
    const ended = await runStory(repository, 'npm view @acme/widget version');
    expect(ended.code).toBe(10);
    expect(ended.stdout + ended.stderr).toMatch(/@acme\/widget.*(?:401|404)|(?:401|404).*@acme\/widget/s);
  });
});
