import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
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
afterAll(() => halo.close());
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

type Step = { raw: string } | { front: { target: string; servername: string } } | { lookup: string };

/** What the hostile setup got to see, step by step. */
async function attack(plan: Step[], network: string[]): Promise<string[]> {
  const repository = newRepository({ 'attacker.mjs': ATTACKER, 'plan.json': JSON.stringify(plan) });
  const settings = scripted(`echo x > x; ${OK}`, [], ['setup=["node attacker.mjs"]', ...network]);
  const state = await halo.run(repository.root, [{ id: 'A' }], settings);
  expect(state.detail).toBe('1 of 1 stories passed');
  const log = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/setup/setup-1.log`);
  const answers = JSON.parse(log) as string[];
  expect(answers).toHaveLength(plan.length);
  return answers;
}

/** A server of this machine; gives its port and counts what reaches it. */
async function listening(server: Server): Promise<{ port: number; reached(): number }> {
  let bytes = 0;
  server.on('connection', (socket: Socket) => socket.on('data', (chunk) => (bytes += chunk.length)));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, reached: () => bytes };
}

const tunnel = (target: string): Step => ({ raw: `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n` });

describe('attack 10, incident allow-list, incident relay: names that look like an allowed one', () => {
  const names = (port: number) => [
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

  it('are not reachable, nor is a relay inside that claims to serve another client', async () => {
    const server = await listening(createServer((_req, res) => res.end('inside')));
    const relayed = {
      raw: `GET http://127.0.0.1:${server.port}/ HTTP/1.1\r\nHost: allowed.example\r\nX-Forwarded-Host: allowed.example\r\nConnection: close\r\n\r\n`,
    };
    const answers = await attack(
      [...names(server.port).map(tunnel), relayed],
      ['network.allow=["allowed.example:443"]'],
    );
    for (const answer of answers) expect(answer).not.toMatch(/^HTTP\/1\.1 200|inside/);
    expect(server.reached()).toBe(0);
  });
});

describe('attack 11, incident dns: an allowed name with an internal address', () => {
  it('is refused with all its addresses, and names cannot be resolved inside', async () => {
    const server = await listening(createServer((_req, res) => res.end('inside')));
    const target = `localhost:${server.port}`;
    const plain = { raw: `GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n` };
    const [connected, asked, ...found] = await attack(
      [tunnel(target), plain, { lookup: 'secret.evil.example' }, { lookup: 'example.com' }],
      [`network.allow=["${target}"]`],
    );
    expect(connected).toContain('is not a public address (loopback)');
    expect(asked).toContain('is not a public address (loopback)');
    expect(found).toEqual([expect.stringMatching(/^E/), expect.stringMatching(/^E/)]);
    expect(server.reached()).toBe(0);
  });
});

describe('attack 12: another server behind an allowed tunnel', () => {
  it('is not reachable: TLS must name the requested host', async () => {
    const tls = createTlsServer({ key: pem('key'), cert: pem('cert') }, (socket) => socket.end());
    tls.on('tlsClientError', () => {});
    const server = await listening(tls);
    const target = `localhost:${server.port}`;
    const fronts = ['other.example', ''].map((servername) => ({ front: { target, servername } }));
    const network = [`network.allow=["${target}"]`, `network.private=["${target}"]`];
    expect(await attack(fronts, network)).toEqual(['cut', 'cut']);
    expect(server.reached()).toBe(0);
    expect(await attack([{ front: { target, servername: 'localhost' } }], network)).toEqual(['connected']);
  });
});

describe('attack 13: publishing through an allowed registry', () => {
  it('is not possible, and no part of it reaches the registry', async () => {
    const server = await listening(createServer((_req, res) => res.end('{}')));
    const host = `127.0.0.1:${server.port}`;
    const request = (method: string, path: string, extra = '') => ({
      raw: `${method} /~npm/${host}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${extra}\r\n`,
    });
    const body = 'Content-Length: 6\r\n\r\nstolen';
    const answers = await attack(
      [
        request('PUT', '/package', body),
        request('POST', '/-/v1/login', body),
        request('DELETE', '/package/-rev/1'),
        request('GET', '/package', body),
        request('GET', '/package?stolen=secret'),
        request('GET', '/-/package/package/dist-tags'),
      ],
      ['network.registries=["npm"]', `network.upstreams.npm="http://${host}"`],
    );
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['405', '405', '405', '400', '403', '403']);
    expect(server.reached()).toBe(0);
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
