import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../src/api/doctor/diagnose.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import { findUpgradeHint } from '../../src/sandbox/docker/engine-info.ts';
import { openIsolationCheck } from '../../src/sandbox/isolation-check/check-isolation.ts';
import { ProbeCache } from '../../src/sandbox/probe-cache.ts';
import { OK, prdOf } from '../support/halo/halo.ts';
import { openHome, type HaloHome } from '../support/halo/halo-process.ts';
import type { TestRepository } from '../support/repository/repository.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hostOf } from '../support/halo/host.ts';
import { newRepository } from '../support/repository/new-repository.ts';

const ENGINE = '/var/run/docker.sock';

let dir: string;
let home: HaloHome;
let repository: TestRepository;
let engine: Awaited<ReturnType<typeof oldEngine>>;
beforeAll(async () => {
  dir = tempDir('halo-old');
  home = openHome();
  repository = newRepository();
  engine = await oldEngine(join(dir, 'docker.sock'));
});
afterAll(async () => {
  await home.close();
  await engine.close();
});

/** The engine of this machine, as an older one would speak of itself. It makes nothing. */
async function oldEngine(socket: string) {
  const asked: string[] = [];
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    const path = req.url ?? '';
    asked.push(`${req.method} ${path}`);
    if (req.method !== 'GET') return res.writeHead(500).end('{"message":"an old engine makes nothing"}');
    const real = request({ socketPath: ENGINE, path, method: 'GET' }).end();
    const [found] = (await once(real, 'response')) as [IncomingMessage];
    const shown = (await json(found)) as object;
    const old = path.endsWith('/version') ? { Version: '19.03.15', ApiVersion: '1.40' } : { ServerVersion: '19.03.15' };
    const said = Array.isArray(shown) ? shown : { ...shown, ...(/\/(version|info)$/.test(path) ? old : {}) };
    return res.writeHead(found.statusCode ?? 500, { 'content-type': 'application/json' }).end(JSON.stringify(said));
  };
  const server = createServer((req, res) => void answer(req, res));
  server.listen(socket);
  await once(server, 'listening');
  return { socket, asked, close: async () => void (await new Promise((resolve) => server.close(resolve))) };
}

describe('hazard 39: an engine that is too old', () => {
  it('is refused with a sentence that names the required version, and no story is started', async () => {
    const prd = join(repository.root, '..', 'prd.json');
    writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
    const agent = ['-c', 'agent=command', '-c', `agents.command.run=${JSON.stringify(OK)}`, '-c', 'gates=["true"]'];
    const { code, stdout, stderr } = await home.halo(['run', prd, '--repo', repository.root, ...agent], {
      cwd: repository.root,
      env: { DOCKER_HOST: `unix://${engine.socket}` },
    });
    expect(`${stdout}${stderr}`).toContain('The container engine 19.03.15 is too old: its API version is 1.40');
    expect(`${stdout}${stderr}`).toContain('halo needs Docker Engine 20.10 or newer');
    expect(code).toBe(6);
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
  });

  it('is reported by `halo doctor`', async () => {
    const before = process.env.DOCKER_HOST;
    process.env.DOCKER_HOST = `unix://${engine.socket}`;
    try {
      const found = await diagnose(hostOf(dir));
      expect(found.find(({ name }) => name === 'docker')).toMatchObject({
        ok: 'fail',
        says: expect.stringMatching(/^engine 19\.03\.15, API 1\.40/) as string,
        fix: expect.stringContaining('20.10 or newer') as string,
      });
    } finally {
      if (before === undefined) delete process.env.DOCKER_HOST;
      else process.env.DOCKER_HOST = before;
    }
  });
});

describe('any other engine', () => {
  it('is judged by its API version, not by its own', () => {
    expect(['1.41', '1.44', '1.50', '2.0'].map((apiVersion) => findUpgradeHint({ apiVersion }))).toEqual(
      Array(4).fill(undefined),
    );
    expect(['1.40', '1.5', ''].map((apiVersion) => findUpgradeHint({ apiVersion }) === undefined)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('is queried without a fixed API version, so that the newest engines respond', async () => {
    const halo = openDockerEngine({ name: 'other', address: `unix://${engine.socket}` });
    await openIsolationCheck(halo, new ProbeCache(halo, dir))('auto').catch(() => undefined);
    expect(engine.asked.length).toBeGreaterThan(0);
    expect(engine.asked.filter((line) => /^[A-Z]+ \/v\d/.test(line))).toEqual([]);
  });
});
