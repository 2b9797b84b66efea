import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/gateway.ts';
import { gitClientEnv } from '../../../src/gateway/git-proxy.ts';
import { openCredential } from '../../../src/gateway/registry/upstream-credentials.ts';
import { ask } from '../../gateway/client.ts';
import { gateway, httpServer, listening } from '../../gateway/fixture.ts';
import { makeRepo, run as runGit } from '../../support/repository/git-fixture.ts';
import { PATIENCE } from '../../support/patience.ts';
import { copyBase } from '../../support/repository/recorded-base.ts';
import { startGitServer, type GitServer } from '../../support/git-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const run = promisify(execFile);
const TOKEN = 'canary-of-a-git-server';
const BASIC = `Basic ${Buffer.from(`halo:${TOKEN}`).toString('base64')}`;

const servers: GitServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** A server with the repositories team/lib.git and other/secret.git, which need a token. */
async function serverWithRepositories() {
  const dir = join(tempDir('git-server'), 'git');
  const work = join(dir, 'work');
  copyBase(dir, 'git-server', (base) => {
    const made = join(base, 'work');
    mkdirSync(made);
    makeRepo(made, { 'lib.js': 'module.exports = 1;\n' });
    for (const name of ['team/lib.git', 'other/secret.git'])
      runGit(made, ['clone', '-q', '--bare', made, join(base, name)]);
  });
  const server = await startGitServer(dir, BASIC);
  servers.push(server);
  return Object.assign(server, { dir, work });
}

const credentialOf = (address: string) => openCredential(address, { scheme: 'basic', user: 'halo', token: TOKEN })!;

/** A gateway on a port of loopback, as a sandbox has it, and git with the variables of setup. */
async function sandbox(
  urls: string[],
  credentials = urls.map((url) => credentialOf(url.replace('http://', ''))),
  more: Partial<GatewayOptions> = {},
) {
  // prettier-ignore
  const gate = await gateway({ git: { urls, credentials }, ...more });
  const port = await listening(
    createServer((socket) => {
      const inner = connect(gate.socket);
      socket.on('error', () => inner.destroy()).pipe(inner);
      inner.on('error', () => socket.destroy()).pipe(socket);
    }),
  );
  const env = { PATH: process.env['PATH'], HOME: tempDir(), ...gitClientEnv(urls, Number(port.split(':')[1])) };
  const git = (...args: string[]) => run('git', args, { env, cwd: env.HOME, timeout: PATIENCE.timeout });
  const get = (path: string, method = 'GET', body?: string, headers: Record<string, string> = {}) =>
    ask(gate.socket, { method, path, body, headers: { host: port, ...headers } });
  return { gate, git, get, home: env.HOME };
}

const sent = ({ asked }: GitServer) => new Set(asked.map(([, authorization]) => authorization));

describe('a git dependency over https', () => {
  it('is cloned, fetched and listed with a token that the sandbox does not have', async () => {
    const server = await serverWithRepositories();
    const { git, gate, home } = await sandbox([`http://${server.host}/team/`]);
    const url = `http://${server.host}/team/lib.git`;
    await git('clone', '-q', url, 'lib');
    expect(readFileSync(join(home, 'lib/lib.js'), 'utf8')).toContain('module.exports');
    await run('git', ['-c', 'user.name=T', '-c', 'user.email=t@x', 'commit', '-q', '--allow-empty', '-m', 'next'], { cwd: server.work }); // prettier-ignore
    await run('git', ['push', '-q', join(server.dir, 'team/lib.git'), 'main'], { cwd: server.work });
    await git('-C', 'lib', 'fetch', '-q', '--depth', '1', 'origin', 'main');
    expect((await git('ls-remote', url, 'HEAD')).stdout).toMatch(/^[0-9a-f]{40}\tHEAD/);
    expect(sent(server)).toEqual(new Set([BASIC]));
    expect(readFileSync(join(home, 'lib/.git/config'), 'utf8')).not.toContain(TOKEN);
    expect(gate.traffic()).toMatchObject([
      { route: 'git', method: 'GET', target: `${server.host}/team/lib.git`, outcome: 'served' },
      { route: 'git', method: 'POST', target: `${server.host}/team/lib.git`, outcome: 'served' },
    ]);
  });

  it('is found by the spellings for SSH as well, and by older protocols', async () => {
    const server = await serverWithRepositories();
    const { git } = await sandbox([`http://${server.host}/team/`]);
    for (const url of ['ssh://git@127.0.0.1/team/lib.git', 'git@127.0.0.1:team/lib.git'])
      for (const version of ['0', '2'])
        expect((await git('-c', `protocol.version=${version}`, 'ls-remote', url, 'HEAD')).stdout).toContain('HEAD');
  });

  it('follows a repository that was renamed', async () => {
    const server = await serverWithRepositories();
    const { git, home } = await sandbox([`http://${server.host}/team/`]);
    server.redirects['/team/old/info/refs?service=git-upload-pack'] = '/team/lib.git/info/refs?service=git-upload-pack';
    await git('clone', '-q', `http://${server.host}/team/old`, 'lib');
    expect(existsSync(join(home, 'lib/lib.js'))).toBe(true);
  });

  it('a git dependency that the token may not read fails with the reason', async () => {
    const server = await serverWithRepositories();
    const { git, get } = await sandbox([`http://${server.host}/team/`], []);
    await expect(git('ls-remote', `http://${server.host}/team/lib.git`)).rejects.toThrow(/502/);
    const { body } = await get(`/~git/${server.host}/team/lib.git/info/refs?service=git-upload-pack`);
    expect(body).toContain('refused the repository');
    expect(body).toContain('see [network.credentials]');
  });
});

describe('incident git-server: a git server with a token', () => {
  it('is only read: a push reaches nothing', async () => {
    const server = await serverWithRepositories();
    const { git, get } = await sandbox([`http://${server.host}/team/`]);
    await git('clone', '-q', `http://${server.host}/team/lib.git`, 'lib');
    const before = server.asked.length;
    await expect(git('-C', 'lib', 'push', 'origin', 'HEAD:refs/heads/evil')).rejects.toThrow(/403/);
    const base = `/~git/${server.host}/team/lib.git`;
    for (const [path, method] of [
      [`${base}/info/refs?service=git-receive-pack`, 'GET'],
      [`${base}/git-receive-pack`, 'POST'],
      [`${base}/info/refs`, 'GET'],
      [`${base}/info/refs?service=git-upload-pack&service=git-receive-pack`, 'GET'],
      [`${base}/info/refs?service=git-upload-pack`, 'POST'],
      [`${base}/git-upload-pack`, 'PUT'],
      [`${base}/HEAD`, 'GET'],
      [`${base}/objects/info/packs`, 'GET'],
      [`${base}/info/lfs/objects/batch`, 'POST'],
      ['/~git/', 'GET'],
    ] as const)
      expect([path, (await get(path, method, 'x')).status >= 400]).toEqual([path, true]);
    expect(server.asked.length).toBe(before);
  });

  it('serves no repository elsewhere, however its path is written', async () => {
    const server = await serverWithRepositories();
    const other = await serverWithRepositories();
    const { git, get } = await sandbox([`http://${server.host}/team/`], [credentialOf(server.host)]);
    const tail = 'info/refs?service=git-upload-pack';
    for (const path of [
      'other/secret.git',
      'team/../other/secret.git',
      'team/%2e%2e/other/secret.git',
      'team/..%2fother/secret.git',
      'team//../other/secret.git',
      'team/.',
      'teamx/lib.git',
      'TEAM/lib.git',
      'team',
      'team/',
      '',
      '@evil.example/team/lib.git',
    ])
      // prettier-ignore
      expect([path, (await get(`/~git/${server.host}/${path}/${tail}`)).status]).toEqual([path, 403]);
    for (const host of [other.host, `x@${server.host}`, 'evil.example:443', `${server.host}%00`])
      expect([host, (await get(`/~git/${host}/team/lib.git/${tail}`)).status]).toEqual([host, 403]);
    await expect(git('ls-remote', `http://${server.host}/other/secret.git`)).rejects.toThrow(/ls-remote/);
    expect([...sent(server)].filter((each) => each !== undefined)).toEqual([]);
    expect(other.asked).toEqual([]);
  });

  it('sends its token nowhere else by a redirect', async () => {
    const server = await serverWithRepositories();
    const stolen: unknown[] = [];
    const thief = await httpServer((req, res) => {
      stolen.push(req.headers.authorization);
      res.end();
    });
    const { get } = await sandbox([`http://${server.host}/team/`]);
    const tail = 'info/refs?service=git-upload-pack';
    for (const location of [
      `http://${thief}/team/lib.git/${tail}`,
      `http://x:y@${server.host}/team/lib.git/${tail}`,
      `/other/secret.git/${tail}`,
      `/team/../other/secret.git/${tail}`,
      '/team/lib.git/info/refs?service=git-receive-pack',
      'https://169.254.169.254/latest',
    ]) {
      server.redirects[`/team/lib.git/${tail}`] = location;
      const { status, headers } = await get(`/~git/${server.host}/team/lib.git/${tail}`);
      expect([location, status, headers.location]).toEqual([location, 502, undefined]);
    }
    expect(stolen).toEqual([]);
  });

  it('receives only rebuilt requests of limited size', async () => {
    const server = await serverWithRepositories();
    const { get } = await sandbox([`http://${server.host}/team/`]);
    const path = `/~git/${server.host}/team/lib.git/git-upload-pack`;
    const type = { 'content-type': 'application/x-git-upload-pack-request' };
    expect((await get(path, 'POST', 'x', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await get(path, 'POST', 'x', { ...type, 'content-length': '9999999' }).catch(() => ({ status: 413 }))).status).toBe(413); // prettier-ignore
    expect(server.asked).toEqual([]);
    const refs = `/~git/${server.host}/team/lib.git/info/refs?service=git-upload-pack`;
    const answer = await get(refs, 'GET', undefined, { cookie: 'a=b', 'git-protocol': 'version=2:evil', authorization: 'Basic of-the-sandbox' }); // prettier-ignore
    expect(answer.status).toBe(200);
    expect(answer.all).not.toContain(TOKEN);
    expect(sent(server)).toEqual(new Set([BASIC]));
  });

  it('is not there for a sandbox without an entry', async () => {
    const server = await serverWithRepositories();
    const { get } = await sandbox([]);
    const path = `/~git/${server.host}/team/lib.git/info/refs?service=git-upload-pack`;
    expect((await get(path)).status).toBe(403);
    expect(server.asked).toEqual([]);
  });
});
