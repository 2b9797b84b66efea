import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { answerText } from './error-responses.ts';
import { capBytes } from './cap-bytes.ts';
import { answerHeaders, forwardedHeaders, hasBody } from './headers.ts';
import { serveDebian, type MirrorDoor } from './registry/registry-proxy.ts';
import { checkTarget } from './network.ts';
import { describeNetworkError } from './network-error.ts';
import { formatTarget } from './egress/host-port.ts';

/** Serves `GET http://host[:port]/path` and HEAD to an allowed target: nothing can be sent out but the URL. */
export async function servePlainProxy(door: MirrorDoor, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { network, outside } = door;
  const method = req.method ?? '';
  const url = req.url ?? '';
  const parts = /^http:\/\/([^/?#]*)([/?][^#]*)?$/i.exec(url);
  const authority = parts?.[1] === undefined || /:\d+$/.test(parts[1]) ? parts?.[1] : `${parts[1]}:80`;
  const entry = { method, target: url };
  const place = { door: 'plain', target: authority ?? url } as const;
  const refuse = (status: number, reason: string) => {
    network.ledger.refuse({ ...entry, status }, reason, place);
    answerText(res, status, reason);
  };
  if (authority === undefined) return refuse(403, 'network: only http:// addresses can be asked for this way');
  const target = checkTarget(authority, network.allow);
  if ('reason' in target) {
    const isApt = network.registries.has('debian') && /\/(?:dists|pool)\//.test(parts?.[2] ?? '');
    return isApt ? serveDebian(door, req, res) : refuse(403, target.reason);
  }
  if (method !== 'GET' && method !== 'HEAD')
    return refuse(405, `network: ${method} refused; only GET and HEAD may go out`);
  if (hasBody(req)) return refuse(400, `network: ${method} with a body refused`);

  const abort = new AbortController();
  res.once('close', () => abort.abort());
  const path = parts?.[2] ?? '/';
  try {
    const found = await network.addresses.find(target);
    if ('reason' in found) return refuse(403, found.reason);
    const answer = await outside.ask({
      method,
      target,
      protocol: 'http:',
      path: path.startsWith('?') ? `/${path}` : path,
      headers: { ...forwardedHeaders(req.headers), host: formatTarget(target).replace(/:80$/, '') },
      found,
      signal: abort.signal,
    });
    const status = answer.statusCode ?? 502;
    const carried = network.ledger.record({ ...entry, outcome: 'served', status }, place);
    res.writeHead(status, answerHeaders(answer.headers));
    await pipeline(answer, capBytes(network.limits.answerBytes, carried), res);
  } catch (error) {
    if (res.headersSent || res.destroyed) return void res.destroy();
    network.ledger.record({ ...entry, outcome: 'failed', status: 502 }, place);
    answerText(res, 502, `network: ${formatTarget(target)} not reached: ${describeNetworkError(error)}`);
  }
}
