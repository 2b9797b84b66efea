import type { IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import type { RegistryName } from '../../../src/core/journal/egress-events.ts';
import type { GatewayOptions } from '../../../src/gateway/gateway.ts';
import type { RegistryRoute } from '../../../src/gateway/registry/registries.ts';
import { ask } from '../client.ts';
import { gateway, httpServer, listening } from '../fixture.ts';

/** A registry's server that says `answers[path]`, and everything that it was asked. */
export async function upstream(
  answers: Record<string, string | Buffer | ((host: string) => string)>,
  authorization?: string,
) {
  const asked: IncomingMessage[] = [];
  const host = await httpServer((req, res) => {
    asked.push(req);
    const answer = answers[req.url ?? ''];
    if (authorization !== undefined && req.headers.authorization !== authorization) res.writeHead(401).end();
    else if (answer === undefined) res.writeHead(404).end('not here');
    else res.end(typeof answer === 'function' ? answer(host) : answer);
  });
  return { host, asked };
}

/** The route to a registry at an address. */
export const routeTo = (name: RegistryName, upstream: string, hosts: string[] = []): RegistryRoute => ({
  name,
  upstream,
  hosts,
  named: true,
});

/** A gateway with one registry. */
export async function mirror(route: RegistryRoute, options: Partial<GatewayOptions> = {}) {
  const gate = await gateway({ ...options, registries: [route] });
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    ask(gate.socket, { method, path, body: undefined, headers: { host: '127.0.0.1:4080', ...headers } });
  return Object.assign(gate, { get });
}

/** A port of loopback for a gateway, as the sandbox has it. */
export async function portOf(socketPath: string): Promise<number> {
  const server = createServer((socket) => {
    const inner = connect(socketPath);
    socket.on('error', () => inner.destroy()).pipe(inner);
    inner.on('error', () => socket.destroy()).pipe(socket);
  });
  return Number((await listening(server)).split(':')[1]);
}
