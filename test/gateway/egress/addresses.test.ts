import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { startGateway } from '../../../src/gateway/gateway.ts';
import { ask, connectTo } from '../client.ts';
import { gateway, httpServer } from '../fixture.ts';

const REFUSED = [
  ['loopback', ['127.0.0.1', '127.8.8.8', '::1']],
  ['private', ['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fd00::1', 'fec0::1']],
  ['metadata', ['169.254.169.254', '169.254.1.1', 'fe80::1']],
  ['cloud', ['168.63.129.16']],
  ['documents', ['192.0.2.1', '3fff::1']],
  ['carrier', ['100.64.0.1', '100.127.255.255', '100.100.100.200']],
  ['multicast', ['224.0.0.1', '239.255.255.250', 'ff02::1']],
  ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
  ['reserved', ['192.0.0.192', '198.18.0.1', '240.0.0.1', '255.255.255.255', '2001::1']],
  [
    'in disguise',
    ['::ffff:10.0.0.1', '::ffff:8.8.8.8', '::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '2002:7f00:1::'],
  ],
] as const;

describe('an allowed name', () => {
  for (const [word, addresses] of REFUSED) {
    it.each(addresses)(`is refused if it resolves to %s (${word})`, async (address) => {
      // A good address beside it does not help.
      const gate = await gateway({
        allow: ['packages.example:80'],
        lookup: () => Promise.resolve(['8.8.8.8', address]),
      });
      const plain = await ask(gate.socket, { method: 'GET', path: 'http://packages.example/', body: undefined });
      const { status } = await connectTo(gate.socket, 'packages.example:80');
      expect([plain.status, status]).toEqual([403, 403]);
      expect(plain.body).toContain(`packages.example:80 refused; ${address} is not a public address`);
      expect(plain.body).toContain(word);
    });
  }

  it('is refused if it resolves to any address of this machine', async () => {
    const own = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
    expect(own.length).toBeGreaterThan(0);
    for (const address of own) {
      const gate = await gateway({ allow: ['packages.example:80'], lookup: () => Promise.resolve([address]) });
      expect((await connectTo(gate.socket, 'packages.example:80')).status).toBe(403);
    }
  });

  it('is resolved once, and the checked address is used', async () => {
    const target = await httpServer((req, res) => res.end(`${req.headers.host}`));
    const name = target.replace('127.0.0.1', 'packages.example');
    let asked = 0;
    const gate = await gateway({
      allow: [name],
      mayBePrivate: [name],
      lookup: () => Promise.resolve(asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2']),
    });
    const path = `http://${name}/`;
    const bodies = await Promise.all([1, 2].map(() => ask(gate.socket, { method: 'GET', path, body: undefined })));
    expect(bodies.map(({ body }) => body)).toEqual([name, name]);
    expect((await connectTo(gate.socket, name)).status).toBe(200);
    expect(asked).toBe(1);
  });

  it('may be private for exactly the configured port', async () => {
    const target = await httpServer((_req, res) => res.end('inside'));
    const port = target.split(':')[1]!;
    const lookup = () => Promise.resolve(['127.0.0.1']);
    const path = `http://packages.example:${port}/`;
    const status = async (mayBePrivate: string[]) => {
      const gate = await gateway({ allow: [`packages.example:${port}`], mayBePrivate, lookup });
      return (await ask(gate.socket, { method: 'GET', path, body: undefined })).status;
    };
    expect(await status([`packages.example:${port}`])).toBe(200);
    expect(await status(['packages.example:1', `other.example:${port}`])).toBe(403);
    const socketPath = '/nowhere/gateway.sock';
    await expect(startGateway({ socketPath, mayBePrivate: ['10.0.0.0/8'] })).rejects.toThrow(
      '[network] private contains',
    );
  });

  it('gets 502 if it does not resolve, and is resolved again', async () => {
    let asked = 0;
    const lookup = () => {
      asked += 1;
      return Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    };
    const gate = await gateway({ allow: ['packages.example:80'], lookup });
    const { status } = await connectTo(gate.socket, 'packages.example:80');
    const plain = await ask(gate.socket, { method: 'GET', path: 'http://packages.example/', body: undefined });
    expect([status, plain.status, asked]).toEqual([502, 502, 2]);
    expect(plain.body).toContain('its host name does not exist');
  });
});
