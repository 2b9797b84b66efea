import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { openPullRequests } from '../../../src/forge/open-forge.ts';
import { createProviderClient } from '../../../src/gateway/model/upstream-provider.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { pushRefs } from '../../../src/git/repository/push-refs.ts';
import { parseRemote } from '../../../src/git/repository/repo-url.ts';
import { openConnections } from '../../../src/lib/network/connections.ts';
import { mayReceiveCredential } from '../../../src/lib/network/credential-target.ts';
import { parseRedisUrl, sendsReadablePassword } from '../../../src/queue/redis/redis-client.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { openSink } from '../../../src/features/notifications/worker/deliver.ts';
import { tempDir } from '../../support/temp-dir.ts';

const SECRET = 'credential-of-the-operator-7718203';

describe('incident credential-target: a credential for one server, and another one that asks for it', () => {
  it.each([
    ['https://h.example/a', 'https://h.example', true],
    ['https://h.example:443/a', 'https://h.example', true],
    ['https://h.example:8443/a', 'https://h.example', false],
    ['http://h.example/a', 'https://h.example', false],
    ['http://h.example/a', 'http://h.example', false],
    ['https://h.example.evil.example/a', 'https://h.example', false],
    ['http://127.0.0.1:18600/a', 'http://127.0.0.1:18600/api', true],
    ['http://127.0.0.1:18601/a', 'http://127.0.0.1:18600/api', false],
    ['http://[::1]:80/a', 'http://[::1]', true],
    ['http://localhost.evil.example/', 'http://localhost.evil.example', false],
    ['http://127.evil.example/', 'http://127.evil.example', false],
    ['smtp://localhost:25', 'smtp://localhost:26', false],
  ])('%s may have that of %s: %s', (url, configured, may) => {
    expect(mayReceiveCredential(url, configured)).toBe(may);
  });

  it.each([
    ['http://h.example:7070', 't', false],
    ['http://127.evil.example', 't', false],
    ['http://h.example:7070', '', true],
    ['https://h.example', 't', true],
    ['http://127.0.0.1:7070', 't', true],
    ['http://[::1]:7070', 't', true],
  ])('a client of the server %s sends the token %j: %s', (url, token, may) => {
    const open = () => openHttp({ url, token });
    const refused = expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error;
    if (may) expect(open).not.toThrow();
    else expect(open).toThrow(refused);
  });

  it.each([
    ['redis://:p@h.example', true],
    ['redis://u:p@10.0.0.1:6379/3', true],
    ['redis://h.example', false],
    ['rediss://:p@h.example', false],
    ['redis://:p@127.0.0.1', false],
    ['redis://:p@[::1]:7', false],
    ['unix://u:p@/run/r.sock', false],
  ])('others on the network can read the password of %s: %s', (url, readable) => {
    expect(sendsReadablePassword(parseRedisUrl(url))).toBe(readable);
  });

  it('git sends no stored login over plain HTTP to another machine', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((req, res) => {
      seen.push(req.headers.authorization);
      res.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const home = tempDir('operator');
    const helper = `!f() { echo username=u; echo password=${SECRET}; }; f`;
    writeFileSync(join(home, '.netrc'), `machine git.example login u password ${SECRET}\n`);
    writeFileSync(join(home, '.gitconfig'), `[credential]\n\thelper = "${helper}"\n`);
    writeFileSync(join(home, 'ask'), `#!/bin/sh\necho ${SECRET}\n`);
    chmodSync(join(home, 'ask'), 0o700);
    vi.stubEnv('HOME', home);
    vi.stubEnv('GIT_ASKPASS', join(home, 'ask'));
    const from = `http://git.example:${port}/team/repo.git`;
    const access = { pinned: `git.example:${port}:127.0.0.1` };
    const asked = updateMirror({ home: tempDir('home'), name: 'm', from, access });
    await expect(asked).rejects.toMatchObject({ code: 'REPO_UNREACHABLE' });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter((header) => header !== undefined)).toEqual([]);
  });

  it.each([
    ['a password in an address', () => parseRemote(`http://u:${SECRET}@git.example/r.git`)],
    ['the token of a forge', () => openForgeAt('http://forge.example/api/v1')],
    ['the login of a push', () => pushTo('http://forge.example/o/r.git')],
    ['the key of a model, in the settings', () => resolveConfig({ set: [MODEL], cwd: '/' })],
    ['the key of a model, at the gateway', () => askModel()],
    ['a token of ntfy', () => openNotify({ type: 'ntfy', text: 'http://ntfy.example/topic' })],
    ['the address of a chat', () => openNotify({ type: 'slack', text: 'http://chat.example/hook' })],
  ])('halo refuses to send %s over plain HTTP to another machine', async (_, send) => {
    const sending = async () => (await send()) as unknown;
    const error = await sending().then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    expect(error?.message).toMatch(/without encryption/);
    expect(String(error)).not.toContain(SECRET);
  });
});

const MODEL = 'model.base_url="http://models.example/v1"';

function openForgeAt(url: string) {
  return openPullRequests({ forge: 'gitea', project: 'o/r' }, { url, tokenEnv: 'T', token: SECRET });
}

function pushTo(url: string) {
  const branches = [{ name: 'b', commit: '0'.repeat(40) }];
  return pushRefs({ mirrorDir: '/x', hostGitDir: '/x', url, login: { user: 'u', password: SECRET }, branches });
}

function askModel() {
  const connections = openConnections();
  onTestFinished(() => connections.close());
  const client = createProviderClient({ api: 'openai', baseUrl: 'http://models.example/v1' }, connections);
  return client.ask({} as never, SECRET, new AbortController().signal);
}

function openNotify({ type, text }: { type: 'ntfy' | 'slack'; text: string }) {
  const none = { env: undefined, file: undefined, command: undefined };
  const secret = type === 'ntfy' ? { ...none, env: 'TOKEN' } : none;
  const connections = openConnections();
  onTestFinished(() => connections.close());
  return openSink(
    { name: 'team', type, url: { ...none, text }, secret, events: [], debounceMs: 0, allowPrivate: false },
    { read: () => Promise.resolve(SECRET), masker: openMasker(), connections },
  );
}
