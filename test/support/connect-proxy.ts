import { createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';

export interface ConnectProxy {
  url: string;
  /** What was asked for, as in `CONNECT host:443` or `GET http://host/`. */
  asked: string[];
  /** The headers `Proxy-Authorization`, in the same order. */
  authorizations: (string | undefined)[];
  close(): Promise<void>;
}

export interface ConnectProxyOptions {
  /** The status of all answers, if it is not 200. */
  status?: number;
  /** With a certificate, the proxy is reached over TLS. */
  tls?: SecureContextOptions;
}

/** An HTTP proxy on loopback that connects every name to 127.0.0.1, at the requested port. */
export async function startConnectProxy({ status = 200, tls }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('request', (req, res) => {
    asked.push(`${req.method} ${req.url}`);
    authorizations.push(req.headers['proxy-authorization']);
    if (status !== 200) return void res.writeHead(status).end();
    const { port, pathname, search, host } = new URL(req.url ?? '');
    const inner = request({ host: '127.0.0.1', port, method: req.method, path: pathname + search, headers: { ...req.headers, host } }); // prettier-ignore
    inner.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    inner.on('error', () => res.destroy());
    req.pipe(inner);
  });
  const sockets = new Set<Duplex>();
  server.on('connection', (socket: Duplex) => sockets.add(socket));
  server.on('secureConnection', (socket: Duplex) => sockets.add(socket));
  server.on('connect', (req, socket, head: Buffer) => {
    asked.push(`CONNECT ${req.url}`);
    authorizations.push(req.headers['proxy-authorization']);
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const inner = connect(Number(req.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      inner.write(head);
      inner.pipe(socket).pipe(inner);
    });
    inner.on('error', () => socket.destroy());
    inner.on('close', () => socket.destroy());
    socket.on('error', () => inner.destroy()).on('close', () => inner.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${tls === undefined ? '127.0.0.1' : 'localhost'}:${port}`,
    asked,
    authorizations,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
