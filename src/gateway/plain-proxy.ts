import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { answerText } from './answers.ts';
import { answerHeaders, forwardedHeaders } from './headers.ts';
import { describeNetworkError } from './network-error.ts';
import { formatTarget } from './target.ts';
import { checkTarget, type Network } from './tunnel.ts';

const IDLE_MS = 10 * 60_000;

/** Serves `GET http://host[:port]/path` and HEAD to an allowed target: nothing can be sent out but the URL. */
export async function servePlainProxy(network: Network, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const method = req.method ?? '';
  const url = req.url ?? '';
  const refuse = (status: number, reason: string) => {
    network.ledger.refuse({ method, target: url, status }, reason);
    answerText(res, status, reason);
  };
  const parts = /^http:\/\/([^/?#]*)([/?][^#]*)?$/i.exec(url);
  if (parts?.[1] === undefined) return refuse(403, 'network: only http:// addresses can be asked for this way');
  const authority = /:\d+$/.test(parts[1]) ? parts[1] : `${parts[1]}:80`;
  const target = checkTarget(authority, network.allow);
  if ('reason' in target) return refuse(403, target.reason);
  if (method !== 'GET' && method !== 'HEAD')
    return refuse(405, `network: ${method} refused; only GET and HEAD may go out`);
  if (hasBody(req)) return refuse(400, `network: ${method} with a body refused`);

  const path = parts[2] ?? '/';
  const upstream = httpRequest({
    host: target.host,
    port: target.port,
    path: path.startsWith('?') ? `/${path}` : path,
    method,
    headers: { ...forwardedHeaders(req.headers), host: formatTarget(target).replace(/:80$/, '') },
    agent: false,
    timeout: IDLE_MS,
  });
  upstream.on('socket', (socket) => {
    network.outside.add(socket);
    socket.once('close', () => network.outside.delete(socket));
  });
  upstream.on('timeout', () => upstream.destroy());
  res.once('close', () => upstream.destroy());
  upstream.end();
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      upstream.once('response', resolve);
      upstream.on('error', reject);
    });
    const status = answer.statusCode ?? 502;
    network.ledger.record({ method, target: url, outcome: 'served', status });
    res.writeHead(status, answerHeaders(answer.headers));
    await pipeline(answer, res);
  } catch (error) {
    if (res.headersSent) return void res.destroy();
    network.ledger.record({ method, target: url, outcome: 'failed', status: 502 });
    answerText(res, 502, `network: ${formatTarget(target)} not reached: ${describeNetworkError(error)}`);
  }
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || !['0', undefined].includes(req.headers['content-length']);
}
