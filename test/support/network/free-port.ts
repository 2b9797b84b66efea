import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to connections and to servers that leave the choice to it. */
const [FIRST, COUNT] = [12_000, 20_000];

/**
 * A port of the loopback interface for a program that cannot choose one. No other test gets it while this
 * process lives: its name in the abstract namespace of sockets says that it is taken.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const claim = await listen({ path: `\0halo-test-port-${port}` });
    if (claim === undefined) continue;
    claim.unref();
    const server = await listen({ port, host: '127.0.0.1' });
    if (server === undefined) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** Undefined if somebody listens there. */
async function listen(where: { path: string } | { port: number; host: string }) {
  const server = createServer();
  server.listen(where);
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  );
}
