import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coreOf, ENCODERS } from '../../support/text/encoders.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { inStories } from '../../support/halo/in-stories.ts';
import { serveGit } from '../../support/repository/serve-git.ts';
import { openHome, type Ended, type HaloHome, type HaloProcess } from '../../support/halo/halo-process.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/**
 * Canaries where the worker has its secrets, halo as a process of its own, an agent and a gate that print and keep
 * what they can get, and then a search through all that is left, in every encoding.
 */

const KEY = 'sk-canary-Key/0+1"quoted&<tag>\'4567890123';
const TOKEN = 'canary-of-the-worker-8842107563';
const FILED = 'canary-in-a-file-5521908841';
/** Of a private package registry. */
const REGISTRY = 'canary-of-a-registry/+7735520194';
const LEAKED = 'canary-that-someone-committed-77';

/** A further key of the model, used while the first one has a pause. */
const SECOND = 'sk-canary-Second/+3"9920157';

const CANARIES = [KEY, SECOND, TOKEN, FILED, REGISTRY];

const docker = new Docker();
let home: HaloHome;
let upstream: Server;
let url: string;
let registry: Server;
/** Requests of packages with the token. */
let installs = 0;
/** What the engine reported of each container of this home while it ran. */
const inspected = new Map<string, string>();
/** Whether the provider has asked for a pause of the first key, and the keys with which it answered. */
let paused = false;
const asked = new Set<string>();
let watching: NodeJS.Timeout | undefined;
/** A `halo serve` of the home, for all tests. */
let served: HaloProcess | undefined;

beforeAll(async () => {
  home = openHome();
  writeFileSync(join(home.dir, 'service.key'), `${FILED}\n`);
  writeFileSync(join(home.dir, 'second-service.key'), SECOND);
  registry = createServer((req, res) => {
    if (req.headers.authorization !== `Bearer ${REGISTRY}`) return void res.writeHead(401).end();
    installs += 1;
    const versions = {
      '1.0.0': { name: '@acme/widget', version: '1.0.0', dist: { tarball: 'http://127.0.0.1:1/x.tgz' } },
    };
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ name: '@acme/widget', 'dist-tags': { latest: '1.0.0' }, versions }));
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  const place = `127.0.0.1:${(registry.address() as AddressInfo).port}/npm`;
  const tables = [
    '[secrets]\nfiles = ["service.key"]\nenv = ["PLAIN_NAME"]',
    `[network.scopes]\n"@acme" = "http://${place}"`,
    `[network.credentials."${place}"]\ntoken_env = "REGISTRY_TOKEN"`,
    `[[model.keys]]\nkey_file = "${join(home.dir, 'second-service.key')}"`,
  ];
  writeFileSync(join(home.dir, 'config.toml'), `${tables.join('\n')}\n`);
  upstream = createServer((req, res) => {
    // Says the key back in every way it knows, and cuts it where it likes.
    const said = String(req.headers.authorization).slice('Bearer '.length);
    if (said === KEY && !paused) {
      paused = true;
      return void res.writeHead(429, { 'retry-after': '1' }).end();
    }
    asked.add(said);
    const all = ENCODERS.map(([, encode]) => encode(said)).join(' ');
    res.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': said, 'x-ratelimit-echo': btoa(said) });
    const pieces = `data: ${all}\n\n`.match(/[\s\S]{1,9}/g) ?? [];
    const next = () => {
      const piece = pieces.shift();
      if (piece === undefined) res.end();
      else res.write(piece, () => setImmediate(next));
    };
    req.resume().on('end', next);
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  watching = setInterval(() => void inspectAll().catch(() => undefined), 100);
});
afterAll(async () => {
  clearInterval(watching);
  await home.close();
  upstream.close();
  registry.close();
});

const ENV = { OPENAI_API_KEY: KEY, CANARY_TOKEN: TOKEN, PLAIN_NAME: LEAKED, REGISTRY_TOKEN: REGISTRY };

/** Prints and keeps all it can get: variables, processes, files, and what the provider says. */
const LOOK = `
const { readFileSync, readdirSync, statSync, writeFileSync } = require('node:fs');
const seen = [JSON.stringify(process.env)];
const read = (path) => { try { if (statSync(path).size < 200000) seen.push(readFileSync(path, 'latin1')); } catch {} };
const walk = (dir, depth) => {
  let names = [];
  try { names = readdirSync(dir, { withFileTypes: true }); } catch {}
  for (const name of names) {
    const path = dir + '/' + name.name;
    if (name.isDirectory() && depth > 0) walk(path, depth - 1);
    else if (name.isFile()) read(path);
  }
};
for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
  read('/proc/' + pid + '/environ'); read('/proc/' + pid + '/cmdline');
}
for (const dir of ['/run', '/home', '/tmp', '/etc', '/workspace']) walk(dir, 4);
// What is deeper comes with the image: megabytes of the agents' programs.
walk('/opt/halo', 2);
`;
/** Reads a package as npm does. */
const INSTALL = `fetch(process.env.npm_config_registry + '@acme%2fwidget').then(async (res) => console.log(res.status, await res.text()))`;
const AGENT = `${LOOK}
const ask = async () => {
  const body = JSON.stringify({ model: 'm', input: [{ role: 'user', content: 'say it' }], stream: true });
  const res = await fetch(process.env.HALO_MODEL_URL + '/responses', { method: 'POST', body, headers: { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.HALO_MODEL_KEY } });
  seen.push(JSON.stringify([...res.headers]), await res.text());
};
ask().catch((error) => seen.push(String(error))).then(() => {
  const all = seen.join('\\n');
  writeFileSync('loot.txt', all.slice(-100000));
  console.log(JSON.stringify({ said: all }));
  console.error(all);
  console.log(JSON.stringify({ status: 'ok', summary: 'I found ' + all.slice(-2000) }));
});
`;

describe('attack 33, hazard 30, incident secret-oracle: canaries of the worker', () => {
  it('is in no container, file, log, journal, cassette, bundle, commit, note or answer, in no encoding', async () => {
    const repository = newRepository({
      'agent.cjs': AGENT,
      'install.cjs': INSTALL,
      'gate.cjs': `${LOOK} console.log(seen.join('\\n')); process.exit(Number(process.argv[2]));`,
    });
    const settings = scripted(
      'echo once more >> times.txt; node agent.cjs',
      ['test $(wc -l < times.txt) -eq 1 && node gate.cjs 0 || node gate.cjs 1'],
      [
        'agents.command.model=openai',
        `model.base_url=${url}`,
        'model.name=m',
        'model.mode=record',
        'setup=["node install.cjs && node gate.cjs 0"]',
        'network.registries=["npm"]',
        'land.hidden_characters="report"',
      ],
    );
    const out = await halo(repository, settings, ['A', 'B']);
    expect(storiesOf(out)).toEqual({ A: 'passed', B: 'failed' });
    await expectNowhere(repository, out.stdout + out.stderr, CANARIES);
    expect(inspected.size, 'containers that were inspected').toBeGreaterThan(3);
    expect([...asked], 'both keys were used').toEqual([SECOND, KEY]);
    expect(installs, 'the token was used').toBeGreaterThan(0);
    const facts = searchable([...inspected.values()].join('\n'));
    for (const canary of CANARIES) expect(spellings(canary, facts)).toEqual([]);
  });

  it('is masked if a repository contains it, and no file with it lands', async () => {
    const all = ENCODERS.map(([, encode]) => encode(LEAKED)).join('\n');
    const print = 'cat all.txt; cat all.txt >&2; head -c 9 all.txt; sleep 0.1; tail -c +10 all.txt';
    const repository = newRepository({
      'all.txt': `${all}\n`,
      'old.txt': 'AKIAIOSFODNN7EXAMPLE\n',
      'ok.sh': `echo "{\\"status\\":\\"ok\\",\\"summary\\":\\"It is $(head -n 1 all.txt).\\"}"`,
    });
    // The encodings and places of a secret are those of test/git/import/import.program.test.ts.
    const changes = {
      lands: 'echo more >> old.txt; echo AKIAIOSFODNN8EXAMPLE > new.txt',
      fails: 'echo x > y',
      copies: 'cp all.txt copy.txt',
    };
    const agent = inStories(Object.entries(changes).map(([id, change]) => [`Story ${id}`, change]));
    const settings = scripted(
      `${agent}; ${print}; sh ok.sh`,
      [`${print}; test ! -e y`],
      ['retry.policy.retries=3', 'run.on_failure="continue"'],
    );
    const out = await halo(repository, settings, Object.keys(changes));
    expect(storiesOf(out)).toEqual({ lands: 'passed', fails: 'failed', copies: 'failed' });
    expect(out.stdout).toMatch(/ copies .*The agent's result is refused: it contains a secret of the machine/);
    expect(out.stdout + out.stderr).not.toContain('attempt 2');
    // A person receives the place; an agent could try words, file by file, and learn which of them is a secret.
    expect(out.stdout).toContain('warning: copy.txt adds a secret of the machine that halo runs on');
    await expectNowhere(repository, out.stdout + out.stderr, [LEAKED]);
    // Text that only looks like a secret is reported.
    expect(out.stdout).toContain('warning: new.txt adds an AWS access key (aws-access-key)');
    expect(out.stdout).not.toContain('old.txt adds');
  });
});

describe('incident address-password: a password in the address of a repository', () => {
  const PASSWORD = 'canary/of@an:address+%41 5512098';

  it('is stored and shown nowhere, and its server receives it', async () => {
    const repository = newRepository();
    const server = await serveGit(repository.root, { user: 'git-user', password: PASSWORD });
    try {
      const settings = scripted(`echo x > x; ${OK}`);
      const story = settings.flatMap((setting) => ['-c', setting]);
      const login = { user: 'git-user', password: PASSWORD };
      const url = server.url(login);
      const wrong = server.url({ ...login, password: `${PASSWORD}9` });
      const broken = url.replace(encodeURIComponent(PASSWORD), PASSWORD);
      const out = [await halo(repository, settings, ['A'], ['--repo', url])];
      const [runId = ''] = home.runIds().slice(-1);
      // Git refuses pushes to a branch that is checked out.
      repository.git('checkout', '-q', '--detach');
      const file = join(repository.root, '../prd.json');
      const batch = join(repository.root, '../batch.json');
      writeFileSync(batch, JSON.stringify([{ name: url, path: url, prd: file }]));
      const at = { cwd: repository.root, env: { ...ENV, HOME: home.dir } };
      const refuse = casesAtLevel(
        [
          () => halo(repository, settings, ['A'], ['--repo', wrong]),
          () => home.halo(['submit', '--batch', batch, ...story, '-c', `env.DB=${url}`, '--profile', 'none'], at),
        ],
        [
          () => halo(repository, settings, ['A'], ['--repo', broken]),
          () => halo(repository, [...settings, `model.base_url=${url}`], ['A'], [`--repo=${server.url()}`]),
          () => home.halo(['submit', file, '--repo', url, '--repo', wrong, ...story], at),
        ],
      );
      const refused: Ended[] = [];
      for (const command of [...refuse, () => home.halo(['land', runId], at)]) refused.push(await command());
      expect(out.map(({ code }) => code)).toEqual([0]);
      expect(refused.map(({ code }) => code)).not.toContain(0);
      expect(refused.at(-1)!.stderr).toContain('set up a git credential helper');
      const askpass = join(repository.root, '../askpass');
      writeFileSync(
        askpass,
        `#!/bin/sh\ncase "$1" in User*) echo git-user;; *) printf '%s\\n' '${PASSWORD}';; esac\n`,
        {
          mode: 0o700,
        },
      );
      const landed = await home.halo(['land', runId], { ...at, env: { ...at.env, GIT_ASKPASS: askpass } });
      expect(landed.stdout).toContain(`halo/${runId}`);
      expect(landed.code).toBe(0);
      expect(repository.git('show', '--stat', `halo/${runId}`)).toContain('x | 1 +');
      const printed = [...out, ...refused, landed].map(({ stdout, stderr }) => stdout + stderr).join('\n');
      expect(printed).toContain(server.url());
      await expectNowhere(repository, printed, [PASSWORD, encodeURIComponent(PASSWORD)]);
    } finally {
      server.close();
    }
  });
});

function halo(repository: TestRepository, settings: string[], ids = ['A'], options: string[] = []) {
  const file = join(repository.root, '../prd.json');
  writeFileSync(file, prdOf(ids.map((id) => ({ id }))).bytes);
  const words = [...options, ...settings.flatMap((setting) => ['-c', setting])];
  return home.halo(['run', file, ...words], { cwd: repository.root, env: ENV });
}

/** What became of each story of a run, by what `halo run` printed. */
function storiesOf({ stdout }: { stdout: string }): Record<string, string> {
  return Object.fromEntries(
    [...stdout.matchAll(/^ {2}(passed|failed) +(?:[0-9a-f]{7} +)?(\S+)/gm)].map(([, end = '', id = '']) => [id, end]),
  );
}

/** Searches the home, what was printed, what the API answers, and git. */
async function expectNowhere(repository: TestRepository, printed: string, canaries: string[]): Promise<void> {
  const git = [
    repository.git('log', '--branches=halo/*', '--format=%an %ae %cn %ce%n%B%n%N', '--notes=halo'),
    ...repository.git('for-each-ref', '--format=%(refname)').split('\n'),
  ].join('\n');
  const landed = canaries.includes(LEAKED) ? '' : repository.git('log', '-p', '--branches=halo/*');
  const answers = await answersOfApi();
  const texts = Object.entries({ printed, git, landed, answers, ...filesOf(home.dir) });
  const places = texts.map(([name, text]) => [name, searchable(text)] as const);
  for (const canary of canaries)
    expect(places.flatMap(([name, text]) => spellings(canary, text).map((how) => `${name}: ${how}`))).toEqual([]);
}

/** A text as it is, and without what wraps its lines. */
function searchable(text: string): string[] {
  return [text, text.replace(/\\+n|\s/g, '')];
}

/** The encodings in which a text holds a canary. */
function spellings(canary: string, texts: string[]): string[] {
  return ENCODERS.filter(([, encode]) => {
    const core = coreOf(encode(canary));
    return texts.some((text) => text.includes(core));
  }).map(([name]) => name);
}

/** Everything below the home but what holds the secrets and the repository itself. */
function filesOf(dir: string): Record<string, string> {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  const kept = paths.filter((path) => !path.endsWith('service.key') && !path.includes('/objects/'));
  return Object.fromEntries(kept.map((path) => [path, readFileSync(path, 'latin1')]));
}

async function answersOfApi(): Promise<string> {
  const server = (served ??= home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir, env: ENV }));
  await server.says('http://');
  const base = /http:\/\/[\d.:]+/.exec(server.stdout() + server.stderr())?.[0] ?? '';
  const headers = { authorization: `Bearer ${readFileSync(join(home.dir, 'api-token'), 'utf8').trim()}` };
  const get = async (path: string) => (await fetch(`${base}${path}`, { headers })).text();
  const { runs } = JSON.parse(await get('/v1/runs')) as { runs: { runId: string }[] };
  expect(runs.length).toBeGreaterThan(0);
  const paths = runs.flatMap(({ runId }) => ['', '/events', '/raw', '/diff'].map((end) => `/v1/runs/${runId}${end}`));
  const answers = await Promise.all(['/v1/runs', '/v1/none', ...paths].map(get));
  const raw = answers.flatMap((text) => [...text.matchAll(/"raw":"([^"]*)"/g)].map(([, part]) => atob(part ?? '')));
  return [...answers, raw.join(''), server.stdout(), server.stderr()].join('\n');
}

/** Asks the engine about the containers of this home that it has not been asked about. */
async function inspectAll(): Promise<void> {
  if (!existsSync(join(home.dir, 'id'))) return;
  const filters = { label: [`dev.halo.home=${readFileSync(join(home.dir, 'id'), 'utf8').trim()}`] };
  for (const { Id } of await docker.listContainers({ all: true, filters })) {
    if (inspected.has(Id)) continue;
    const facts = await docker.getContainer(Id).inspect();
    inspected.set(Id, JSON.stringify(facts));
  }
}
