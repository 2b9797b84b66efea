import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Docker from 'dockerode';
import { buildSandboxImage } from '../../../src/sandbox/docker/image/image.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { startModelServer } from '../../support/model/model-server.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { withoutCost } from '../../support/model/usage.ts';

/** Stories in sandboxes into which no socket can be mounted. */

const STDIO = ['network.channel=stdio'];
const BIG = Buffer.alloc(40 * 1024 * 1024, 'halo');

let halo: TestHalo;
let model: string;
const undo: (() => unknown)[] = [];

beforeAll(async () => {
  await buildSandboxImage({ docker: new Docker(), log: () => undefined });
  halo = await openHalo({ concurrency: 5 });
  model = await serve((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
    req.on('end', () => {
      const { instructions } = JSON.parse(body) as { instructions?: string };
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(instructions === 'big' ? BIG : JSON.stringify({ said: instructions ?? 'nothing' }));
    });
  });
});
afterAll(async () => {
  await halo.close();
  for (const step of undo.splice(0)) await step();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** An agent in JavaScript; `ask(text)` asks the model, `bridges()` gives the process ids of the bridge. */
function agent(script: string): string {
  return `
import { readdirSync, readFileSync, writeFileSync, openSync, writeSync } from 'node:fs';
import { createHash } from 'node:crypto';
const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.HALO_MODEL_KEY };
async function ask(instructions) {
  const body = JSON.stringify({ model: 'm', input: [], instructions });
  const answer = await fetch(process.env.HALO_MODEL_URL + '/responses', { method: 'POST', headers, body });
  return Buffer.from(await answer.arrayBuffer());
}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function askUntilAnswered(text) {
  for (;;) try { return JSON.parse(await ask(text)).said; } catch { await pause(100); }
}
function bridges() {
  const isBridge = (pid) => { try { return readFileSync('/proc/' + pid + '/comm', 'utf8') === 'bridge\\n'; } catch { return false; } };
  return readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && isBridge(name)).map(Number);
}
const result = await (async () => { ${script} })();
writeFileSync('result.txt', String(result));
console.log(JSON.stringify({ status: 'ok', summary: 'Did it.' }));
process.exit(0);
`;
}

/** What the agent had to tell in the end. */
async function runAgent(script: string, more: string[] = STDIO, files: Record<string, string> = {}) {
  const repository = newRepository({ ...files, 'agent.mjs': agent(script) });
  const settings = scripted(
    'node agent.mjs',
    ['true'],
    ['agents.command.model=openai', `model.base_url=${model}`, 'model.key_env=HOME', 'model.name=m', ...more],
  );
  const state = await halo.run(repository.root, [{ id: 'A' }], settings);
  expect(state.detail).toBe('1 of 1 stories passed');
  return { state, result: repository.git('show', `halo/${state.runId}:result.txt`) };
}

const COUNT_TO_20 = `
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask('n' + i)));
  return answers.map((answer) => JSON.parse(answer).said).join();`;
const TWENTY = Array.from({ length: 20 }, (_, i) => `n${i}`).join();

describe('a story over stdio', skipFor(belowFull()), () => {
  it('is implemented by the real Codex, from a cassette that was recorded through a socket', async () => {
    const server = await startModelServer({
      turns: [
        { patch: '*** Begin Patch\n*** Add File: greeting.txt\n+hello\n*** End Patch\n' },
        { run: 'grep hello greeting.txt' },
        { json: { status: 'ok', summary: 'Added the greeting.' } },
      ],
    });
    undo.push(() => server.close());
    const settings = ['agent=codex', `model.base_url=${server.url}`, 'model.key_env=HOME', 'retry.attempts=1'];
    const gates = ['gates=["grep hello greeting.txt"]'];
    const recorded = await halo.run(
      newRepository({}).root,
      [{ id: 'hello' }],
      [...settings, ...gates, 'model.mode=record', 'network.channel=socket'],
    );
    expect(recorded).toMatchObject({ stopReason: 'SUCCESS', channel: 'socket' });
    const cassettes = join(halo.home, 'cassettes');
    mkdirSync(cassettes);
    copyFileSync(
      join(halo.home, 'runs', recorded.runId, 'artifacts/hello/1/cassette.jsonl'),
      join(cassettes, 'hello.jsonl'),
    );
    const repository = newRepository({});
    const replayed = await halo.run(
      repository.root,
      [{ id: 'hello' }],
      [...settings, ...gates, ...STDIO, 'model.mode=replay', `model.cassettes=${JSON.stringify(cassettes)}`],
    );
    expect(replayed).toMatchObject({ stopReason: 'SUCCESS', channel: 'stdio' });
    expect(repository.git('show', `halo/${replayed.runId}:greeting.txt`)).toBe('hello');
    expect(replayed.usage).toEqual(withoutCost(recorded.usage));
  });

  it('transfers twenty concurrent requests and an answer of 40 MiB completely', async () => {
    const [many, big] = await Promise.all([
      runAgent(COUNT_TO_20),
      runAgent(`return createHash('sha256').update(await ask('big')).digest('hex');`),
    ]);
    expect(many.result).toBe(TWENTY);
    expect(big.result).toBe(createHash('sha256').update(BIG).digest('hex'));
  });

  it('installs from an allowed host, trusting the worker’s certificate authorities', async () => {
    const registry = new URL(execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim());
    const port = registry.port || (registry.protocol === 'https:' ? '443' : '80');
    const repository = newRepository({
      '.gitignore': 'node_modules/\n',
      '.npmrc': `registry=${registry.href}\nomit-lockfile-registry-resolved=true\n`,
      'package.json': JSON.stringify({ name: 'x', private: true, dependencies: { 'is-number': '7.0.0' } }),
    });
    const uses = `node -e 'process.exit(require("is-number")(5) ? 0 : 1)'`;
    const settings = scripted(
      `${uses} && echo x > x; ${OK}`,
      [uses],
      [
        ...STDIO,
        'setup=["npm install --no-package-lock --no-audit --no-fund"]',
        `network.allow=["${registry.hostname}:${port}"]`,
        // The registry of this machine may be a company's own.
        `network.private=["${registry.hostname}:${port}"]`,
      ],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories passed');
  });
});

describe('an agent that attacks the bridge', () => {
  it('gets a new one when it kills it, and can send requests again', async () => {
    const { result } = await runAgent(`
      const [first] = bridges();
      process.kill(first, 'SIGKILL');
      await pause(50);
      const said = await askUntilAnswered('again');
      return said + ' ' + (bridges()[0] !== first);`);
    expect(result).toBe('again true');
  });

  const ATTACKS = [
    [
      'writes garbage in its name',
      `for (let i = 0; i < 3; i++) for (const pid of bridges()) try {
         writeSync(openSync('/proc/' + pid + '/fd/1', 'w'), Buffer.alloc(1 << 20, 'garbage'));
         await pause(300);
       } catch {}
       return 'done';`,
    ],
    [
      'floods it with frames that make sense',
      `const frame = (type, id) => { const b = Buffer.alloc(8); b[0] = type; b.writeUInt32BE(id, 4); return b; };
       process.kill(bridges()[0], 'SIGSTOP');
       const fd = openSync('/proc/' + bridges()[0] + '/fd/1', 'w');
       const end = Date.now() + 3000;
       for (let id = 1; Date.now() < end; ) {
         const frames = [];
         for (let i = 0; i < 1000; i++, id++) frames.push(frame(2, id), frame(5, id));
         writeSync(fd, Buffer.concat(frames));
         await pause(1);
       }
       return 'done';`,
    ],
    [
      'stops it, so that it never reads',
      `const big = ask('big').catch(() => {});
       await pause(200);
       process.kill(bridges()[0], 'SIGSTOP');
       await pause(3000);
       return 'done';`,
    ],
  ] as const;

  it(`harms only itself when it ${ATTACKS.map(([how]) => how).join(', or ')}`, async () => {
    const before = process.memoryUsage().rss;
    const attacks = ATTACKS.map(([, script]) => runAgent(script));
    const others = await Promise.all([runAgent(COUNT_TO_20), runAgent(COUNT_TO_20, ['network.channel=socket'])]);
    expect(others.map(({ result }) => result)).toEqual([TWENTY, TWENTY]);
    expect((await Promise.all(attacks)).map(({ result }) => result)).toEqual(ATTACKS.map(() => 'done'));
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
  });
});
