import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { prdOf } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** Somebody with the token of a server, who has no other right on its machine; no worker is needed for that. */

const TOKEN = 'token-of-a-test-0123456789';
let home: string;
let local: LocalOperations;
let served: Served;
/** As the attacker has it. */
let remote: Operations;
let mine: TestRepository;
let theirs: TestRepository;

beforeAll(async () => {
  home = tempDir('halo-home');
  const host = { home, redisUrl: undefined, apiUrl: undefined, apiToken: TOKEN };
  local = openLocal({ host });
  served = await serveApi({ operations: local, listen: '127.0.0.1:0', host });
  remote = openHttp({ url: served.url, token: TOKEN });
  [mine, theirs] = [newRepository(), newRepository()];
});
afterAll(async () => {
  await served.close();
  await local.close();
});

const PRD = Buffer.from(prdOf([{ id: 'A' }]).bytes);

function submit(operations: Operations, { prd = '/none/prd.json', repo = mine.root, set = [] as string[] }) {
  return operations
    .submit({
      prd: { path: prd, bytes: new Uint8Array(PRD) },
      repos: [repo],
      profile: undefined,
      set: ['agent=command', 'agents.command.run=true', 'gates=["true"]', ...set],
      allowDirty: true,
    })
    .then(({ runs }) => runs);
}

/** Whether a run that was submitted so marks in that file what lands, and reads it again. */
async function marks(operations: Operations, prd: string): Promise<{ marks: boolean; reads: boolean; warned: string }> {
  const [run] = await submit(operations, { prd });
  const { state, record } = await local.getRun({ runId: run!.runId });
  const { config } = record as { config: { prd: { writeBack: boolean } } };
  return {
    marks: config.prd.writeBack,
    reads: state.prdIsHere,
    warned: run!.warnings.filter((warning) => !/not done yet|already works on/.test(warning)).join(),
  };
}

describe('incident foreign-prd: a run on one repository marks the PRD of another team', () => {
  const NO = { marks: false, reads: false, warned: '' };

  it('is not possible: only a file of the submitted repository belongs to the run', async () => {
    const file = (root: string, path: string) => {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), PRD);
      return join(root, path);
    };
    const own = file(mine.root, 'tasks/prd.json');
    expect(await marks(remote, own)).toEqual({ marks: true, reads: true, warned: '' });
    const foreign = file(theirs.root, 'prd.json');
    expect(await marks(remote, foreign)).toEqual(NO);
    expect(await marks(remote, join(mine.root, '../..', foreign))).toEqual(NO);
    expect(await marks(remote, file(mine.root, '.git/prd.json'))).toEqual(NO);
    symlinkSync(foreign, join(mine.root, 'link.json'));
    expect(await marks(remote, join(mine.root, 'link.json'))).toEqual(NO);
    symlinkSync(theirs.root, join(mine.root, 'folder'));
    expect(await marks(remote, join(mine.root, 'folder/prd.json'))).toEqual(NO);
  });

  it('is reported to a user on the machine, who may own the file', async () => {
    const theirFile = join(theirs.root, 'prd.json');
    expect(await marks(local, theirFile)).toEqual({
      marks: true,
      reads: true,
      warned: `what lands is marked in ${theirFile}, which is not in the repository`,
    });
  });

  it('is not possible with another PRD for an existing run', async () => {
    const own = join(mine.root, 'tasks/prd.json');
    const [run] = await submit(remote, { prd: own });
    await remote.pause({ runId: run!.runId, now: false });
    const foreign = { path: join(theirs.root, 'prd.json'), bytes: new Uint8Array(PRD) };
    await remote.resume({ runId: run!.runId, replan: { prd: foreign } });
    expect((await local.getRun({ runId: run!.runId })).state.prdPath).toBe(own);
  });
});

describe('incident request-options: settings of a request that only the operator of the server may change', () => {
  it.each([
    'limits.memory="1000g"',
    'limits.output="1t"',
    'breaker.same_error=0',
    'image="other-project"',
    'model.cassettes="/srv/tapes"',
    'sandbox.images=["*"]',
    'server.options=["image"]',
  ])('%s is refused', async (option) => {
    await expect(submit(remote, { set: [option] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('may not weaken the requirements of the repository', async () => {
    const repository = newRepository({ 'halo.toml': '[approval]\nmode = "story"\n' });
    const asked = { repo: repository.root, set: ['approval.mode=never'] };
    await expect(submit(remote, asked)).rejects.toThrow('approval.mode: a request may not be looser than "story"');
    await expect(submit(local, asked)).resolves.toHaveLength(1);
  });
});

describe('incident retry-options: other settings for an existing run', () => {
  const configOf = async (runId: string) => (await local.getRun({ runId })).record['config'] as Record<string, unknown>;

  it('apply from then on, with the user who changed them, and no other setting changes', async () => {
    const [run] = await submit(local, { set: ['limits.idle=3m', 'retry.backoff=7s'] });
    const { runId } = run!;
    await local.cancel({ runId });
    const before = await configOf(runId);
    writeFileSync(join(home, 'config.toml'), '[limits]\ncpus = 1\n');
    try {
      const set = ['limits.wall=2h', 'retry.attempts=5', 'retry.gate.rule=halt', 'budget.story_tokens=9000'];
      await local.actingAs('ann@desk').retry({ runId, set });
      const { state, record } = await local.getRun({ runId });
      expect(state).toMatchObject({ status: 'queued', maxAttempts: 5, reconfigured: [{ by: 'ann@desk', set }] });
      expect(record).toMatchObject({ reconfigured: [{ by: 'ann@desk', set }] });
      const { limits, retry, budget, ...others } = await configOf(runId);
      expect({ limits, retry, budget }).toMatchObject({
        limits: { ...(before.limits as object), wallMs: 7_200_000 },
        retry: { attempts: 5, backoffMs: 7000, gate: { rule: 'halt' } },
        budget: { storyTokens: 9000 },
      });
      expect(others).toEqual({ ...others, gates: ['true'], image: before.image });
    } finally {
      rmSync(join(home, 'config.toml'));
    }
  });

  it('follow the rules of a request over the network, and need a confirmation for gates and image', async () => {
    const [run] = await submit(remote, {});
    const { runId } = run!;
    await local.cancel({ runId });
    const before = await configOf(runId);
    const refuses = (set: string, code: string, yes = false) =>
      expect(remote.retry({ runId, set: [set], yes })).rejects.toMatchObject({ code });
    await refuses('budget.story_usd=100', 'CONFIG_INVALID');
    await refuses('limits.memory="1000g"', 'CONFIG_INVALID');
    await refuses('image="other-project"', 'CONFIG_INVALID', true);
    await refuses('gates=["true", "true"]', 'USAGE');
    await refuses('model.base_url="http://127.0.0.1:1"', 'CONFIG_INVALID');
    await refuses('secrets.added="allow"', 'CONFIG_INVALID');
    await expect(local.resume({ runId, set: ['agent=codex'] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await configOf(runId)).toEqual(before);
    expect((await local.getRun({ runId })).state).toMatchObject({ status: 'ended' });
    await remote.retry({ runId, set: ['gates=["true", "true"]', 'limits.wall=1m'], yes: true });
    expect(await configOf(runId)).toMatchObject({ gates: ['true', 'true'], limits: { wallMs: 60_000 } });
  });
});

describe('incident foreign-image: the file of a repository names the image of another project', () => {
  it('may name only the listed images of this machine', async () => {
    const repository = newRepository({ 'halo.toml': 'image = "other-project:dev"\n' });
    const repo = repository.root;
    try {
      const refused = `halo.toml:1: image: the file of a repository may not choose the image "other-project:dev"`;
      for (const operations of [local, remote]) await expect(submit(operations, { repo })).rejects.toThrow(refused);
      await expect(submit(local, { repo, set: ['image=other-project:dev'] })).resolves.toHaveLength(1);
      writeFileSync(join(home, 'config.toml'), '[sandbox]\nimages = ["other-project:*"]\n');
      await expect(submit(remote, { repo })).resolves.toHaveLength(1);
    } finally {
      rmSync(join(home, 'config.toml'), { force: true });
    }
  });
});

describe('incident request-probe: the repository of a request reveals the server’s network and files', () => {
  it('no address of that network is contacted, whether a server listens there or not', async () => {
    let asked = 0;
    const server = createServer((_req, res) => {
      asked += 1;
      res.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const shown = async (repo: string) =>
        submit(remote, { repo }).then(
          () => 'made',
          ({ code, message, hint }: { code: string; message: string; hint: string }) =>
            `${code} ${message} ${hint}`.replaceAll(/:\d+/g, ''),
        );
      const open = await shown(`http://127.0.0.1:${port}/x`);
      expect(open).toContain('REPO_UNREACHABLE The server of the repository, 127.0.0.1, has no public address.');
      expect(await shown('http://127.0.0.1:1/x')).toBe(open);
      for (const host of ['localhost', '[::1]', '127.1', '0x7f.1', '169.254.169.254', 'no-such-host.invalid'])
        expect(await shown(`http://${host}:${port}/x`)).toMatch(/^REPO_UNREACHABLE .* has no public address\./);
      // Some programs read the host before the backslash, others that after the @.
      for (const address of [
        `127.0.0.1:${port}\\@8.8.8.8/x`,
        `u:p@127.0.0.1:${port}\\@8.8.8.8/x`,
        `127.0.0.1:${port}\t@8.8.8.8/x`,
      ])
        expect(await shown(`http://${address}`)).toMatch(/^USAGE .* is not the plain address of a repository\./);
      expect(await shown('ssh://git@127.0.0.1:22/x')).toMatch(/has no public address/);
      expect(await shown('git@localhost:x')).toMatch(/has no public address/);
      expect(asked).toBe(0);
    } finally {
      server.close();
    }
  });

  it.each(['.', 'src', '../x', 'file:///etc', 'git://example.com/x', 'ssh://0x7f.1/x', '-oProxyCommand=x', 'http://'])(
    '%s is not accepted',
    async (repo) => {
      await expect(submit(remote, { repo })).rejects.toMatchObject({ code: 'USAGE' });
    },
  );

  it('a folder without a repository has the same response as a missing one', async () => {
    const shown = (repo: string) => submit(remote, { repo }).catch((error: Error) => error.message.replace(repo, 'X'));
    expect(await shown('/etc')).toBe('X is not a git repository that this server can use.');
    expect(await shown('/no/such/folder')).toBe(await shown('/etc'));
    expect(await shown(join(mine.root, 'README.md'))).toBe(await shown('/etc'));
  });

  it('an address that the operator allows is contacted', async () => {
    writeFileSync(join(home, 'config.toml'), '[server]\nprivate = ["127.0.0.1:1"]\n');
    try {
      await expect(submit(remote, { repo: 'http://127.0.0.1:1/x' })).rejects.toThrow('Cannot read the repository');
    } finally {
      rmSync(join(home, 'config.toml'));
    }
  });
});

describe('incident artifact-paths: a path to a log that leads to another file, or to more than fits in memory', () => {
  let runId: string;
  let folder: string;
  const PATH = 'us-001/1/gates/1.log';
  const LOG = `\u001b]0;owned\u0007${TOKEN} not ok 7\n`;

  beforeAll(async () => {
    const [run] = await submit(local, {});
    runId = run!.runId;
    folder = join(home, 'runs', runId, 'artifacts/us-001/1');
    mkdirSync(join(folder, 'gates'), { recursive: true });
    writeFileSync(join(folder, 'gates/1.log'), LOG);
    writeFileSync(join(folder, '.hidden'), 'x');
    symlinkSync(join(home, 'api-token'), join(folder, 'link.log'));
    symlinkSync('gates', join(folder, 'folder'));
    symlinkSync('/dev/zero', join(folder, 'zero.log'));
    execFileSync('mkfifo', [join(folder, 'pipe.log')]);
    writeFileSync(join(folder, 'huge.log'), '');
    truncateSync(join(folder, 'huge.log'), 17 * 1024 * 1024);
    writeFileSync(join(home, 'api-token'), TOKEN);
    const bundle = join(home, 'runs', runId, 'debug_bundle');
    writeFileSync(join(bundle, 'summary.md'), LOG);
    symlinkSync(join(home, 'api-token'), join(bundle, 'link.md'));
    symlinkSync(home, join(bundle, 'folder'));
  });

  it('the debug bundle is served like a log', async () => {
    const bytes = await remote.readArtifact({ runId, path: 'debug_bundle/summary.md', whole: false });
    expect(bytes.toString()).toBe(LOG.replace(TOKEN, '*'.repeat(TOKEN.length)));
  });

  it('a log is served unchanged, only to programs, without the secrets of this machine', async () => {
    const answer = await fetch(`${served.url}/v1/runs/${runId}/artifacts/${PATH}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await answer.text()).toBe(LOG.replace(TOKEN, '*'.repeat(TOKEN.length)));
    expect((await remote.listArtifacts({ runId })).artifacts.map(({ path }) => path)).toEqual([
      'debug_bundle/summary.md',
      PATH,
      'us-001/1/huge.log',
    ]);
  });

  it.each([
    '../journal.jsonl',
    '../../../api-token',
    '..%2f..%2f..%2fapi-token',
    '%2e%2e/run.json',
    'us-001/1/../../../run.json',
    'us-001/1/%2e%2e%2f%2e%2e%2f%2e%2e%2frun.json',
    'us-001/1/..\\..\\run.json',
    '//etc/passwd',
    '%2fetc%2fpasswd',
    'debug_bundle/link.md',
    'debug_bundle/folder/api-token',
    'debug_bundle/../run.json',
    'debug_bundle/%2e%2e%2frun.json',
    'debug_bundle//etc/passwd',
    'debug_bundle',
    'us-001/1/.hidden',
    'us-001/1/link.log',
    'us-001/1/folder/1.log',
    'us-001/1/zero.log',
    'us-001/1/pipe.log',
    'us-001/1/huge.log',
    'us-001/1/gates',
    'us-001/1/gates/1.log%00',
    'us-001/1/gates/1.log/',
    `${'a/'.repeat(50)}a`,
    '',
  ])('%s is not served', async (path) => {
    const [status, body] = await new Promise<[number, string]>((resolve, reject) => {
      // Not with fetch, which would tidy the path up.
      const asked = request(
        `${served.url}`,
        { path: `/v1/runs/${runId}/artifacts/${path}`, headers: { authorization: `Bearer ${TOKEN}` } },
        (answer) => {
          let text = '';
          answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
          answer.on('end', () => resolve([answer.statusCode ?? 0, text]));
        },
      );
      asked.on('error', reject).end();
    });
    expect([400, 404]).toContain(status);
    expect(body).not.toContain(home);
    for (const secret of [TOKEN, '"type":"run.created"', 'root:']) expect(body).not.toContain(secret);
  });

  it('nothing is listed or served without the token', async () => {
    for (const path of ['', `/${PATH}`]) {
      const { status } = await fetch(`${served.url}/v1/runs/${runId}/artifacts${path}`);
      expect(status).toBe(401);
    }
  });
});

describe('incident weak-token: a token that can be guessed', () => {
  it.each(['a', 'fifteen-letters'])('%j is refused when the server starts', async (apiToken) => {
    const host = { home, redisUrl: undefined, apiUrl: undefined, apiToken };
    const starting = serveApi({ operations: local, listen: '127.0.0.1:0', host });
    await expect(starting).rejects.toThrow('HALO_TOKEN has fewer than 16 characters');
    expect(readFileSync(join(home, 'id'), 'utf8')).not.toBe('');
  });
});
