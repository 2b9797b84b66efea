import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { planPull } from '../../../src/features/pulls/core/plan-pull.ts';
import { findPushTarget } from '../../../src/core/pulls/forge-project.ts';
import { pushRefs } from '../../../src/git/repository/push-refs.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { PullForges } from '../../../src/features/pulls/worker/open-pull-target.ts';
import { created, passed, stateOf } from '../../support/journal.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

const TOKEN = 'token-of-the-forge-6654290187';

/** A server that keeps the Authorization headers that it receives. */
async function listen(answer: (server: Server) => { status: number; location?: string }) {
  const seen: (string | undefined)[] = [];
  const server = createServer((req, res) => {
    seen.push(req.headers.authorization);
    const { status, location } = answer(server);
    const headers = status === 401 ? { 'www-authenticate': 'Basic realm="git"' } : {};
    res.writeHead(status, { ...headers, ...(location === undefined ? {} : { location }) }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function push(url: string) {
  const repository = newRepository();
  const gitDir = join(repository.root, '.git');
  const commit = repository.git('rev-parse', 'HEAD');
  const login = { user: 'x-access-token', password: TOKEN };
  return pushRefs({ mirrorDir: gitDir, hostGitDir: gitDir, url, login, branches: [{ name: 'halo/0abc', commit }] });
}

describe('incident pull-request: what a run sends to a forge', () => {
  it('shows texts of others as code: no mention, link, image, HTML or line of theirs has an effect', () => {
    const evil = '`@team ![x](http://evil.example/?q) <img src=x> </details>\n# Approved\u202e #1';
    const run = { ...stateOf(created('r'), ...passed('US-001')), project: evil, user: evil };
    const stories = run.stories.map((story) => ({
      ...{ ...story, id: evil, title: evil, summary: evil },
      choice: { agent: 'codex', model: evil, by: 'story' as const },
    }));
    const none = { proofs: new Map(), criteria: new Map([[evil, [evil]]]), claims: new Map() };
    const { title, body } = planPull({ ...run, stories }, none);
    // What is left outside of code spans and the example is halo's own.
    const outside = body.replaceAll(/```[^]*?```/g, '').replaceAll(/`[^`\n]*`/g, '');
    for (const mark of ['@', '![', '<img', '</details>', '# Approved', '#1', '\u202e'])
      expect(outside).not.toContain(mark);
    expect(title).not.toMatch(/[<>@#!`\n\u202e]/);
  });

  it('sends the token to the server of the repository, and not to where that redirects', async () => {
    const other = await listen(() => ({ status: 401 }));
    const forge = await listen(() => ({ status: 302, location: `${other.url}/acme/shop.git/info/refs` }));
    await expect(push(`${forge.url}/acme/shop.git`)).rejects.toMatchObject({ code: 'FORGE_FAILED' });
    expect(forge.seen.length).toBeGreaterThan(0);
    expect(other.seen).toEqual([]);
  });

  it('names no token in the error when the server refuses it', async () => {
    const forge = await listen(() => ({ status: 401 }));
    const error = await push(`${forge.url}/acme/shop.git`).catch((caught: unknown) => caught);
    expect(forge.seen.some((header) => header !== undefined)).toBe(true);
    expect(JSON.stringify(error) + String(error)).not.toContain(TOKEN);
  });

  it('goes to no other port of the host, and to nothing that the remote of a folder names', async () => {
    const home = tempDir('home');
    const table = '[forge.gitea]\nurl = "http://127.0.0.1:18600/api/v1"\ntoken_env = "FORGE_TOKEN"\n';
    writeFileSync(join(home, 'config.toml'), table);
    const forges = new PullForges({ home, env: { FORGE_TOKEN: TOKEN }, masker: openMasker() });
    onTestFinished(() => forges.close());
    const repo = { mirror: 'm', branch: 'main', base: '0'.repeat(40) };
    const folder = newRepository();
    folder.git('remote', 'add', 'origin', 'http://127.0.0.1:18601/o/r.git');
    for (const source of ['http://127.0.0.1:18601/o/r.git', folder.root])
      await expect(forges.openTarget({ repo: { ...repo, source } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    folder.git('remote', 'set-url', 'origin', 'ssh://git@127.0.0.1:18601/o/r.git');
    const { target } = await forges.openTarget({ repo: { ...repo, source: folder.root } });
    expect(target.url).toBe('http://127.0.0.1:18600/o/r.git');
  });

  it.each([
    'https://api.github.com.evil.example/acme/shop',
    'https://evil.example/github.com/shop',
    'file:///etc/shop',
  ])('goes to no server that the machine has not configured: %s', (remote) => {
    expect(findPushTarget(remote, { github: 'https://github.com' })).toBeUndefined();
  });
});
