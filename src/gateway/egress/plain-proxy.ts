import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { describeNetworkError, sendText } from '../error-responses.ts';
import { createByteLimiter, sendUpstream } from '../upstream-request.ts';
import { responseHeaders, forwardedHeaders, hasBody } from '../headers.ts';
import { serveDebian, type ProxyContext } from '../registry/registry-proxy.ts';
import { parseAllowedTarget } from './egress-rules.ts';
import { formatEndpoint } from './host-port.ts';

/** Serves `GET http://host[:port]/path` and HEAD for allowed targets, so that only the URL and headers can leave the sandbox. */
export async function servePlainProxy(context: ProxyContext, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { network } = context;
  const method = req.method ?? '';
  const url = req.url ?? '';
  const parts = /^http:\/\/([^/?#]*)([/?][^#]*)?$/i.exec(url);
  const authority = parts?.[1] === undefined || /:\d+$/.test(parts[1]) ? parts?.[1] : `${parts[1]}:80`;
  const entry = { method, target: url };
  const egress = { route: 'plain', target: authority ?? url } as const;
  const refuseTarget = (status: number, reason: string, why: { unlisted?: true } = {}) => {
    network.log.refuse({ ...entry, status }, reason, { ...egress, ...why });
    sendText(res, status, reason);
  };
  if (authority === undefined)
    return refuseTarget(403, 'network: refused; only http:// URLs are supported for plain proxy requests');
  const target = parseAllowedTarget(authority, network.allow);
  if ('reason' in target) {
    const isApt = network.registries.has('debian') && /\/(?:dists|pool)\//.test(parts?.[2] ?? '');
    const { reason, ...why } = target;
    return isApt ? serveDebian(context, req, res) : refuseTarget(403, reason, why);
  }
  if (method !== 'GET' && method !== 'HEAD')
    return refuseTarget(405, `network: ${method} refused; only GET and HEAD are allowed`);
  if (hasBody(req)) return refuseTarget(400, `network: ${method} with a body refused`);

  const abort = new AbortController();
  res.once('close', () => abort.abort());
  const path = parts?.[2] ?? '/';
  try {
    const found = await network.addresses.find(target, 'http:');
    if ('reason' in found) return refuseTarget(403, found.reason);
    const response = await sendUpstream(network, {
      method,
      target,
      protocol: 'http:',
      path: path.startsWith('?') ? `/${path}` : path,
      headers: { ...forwardedHeaders(req.headers), host: formatEndpoint(target).replace(/:80$/, '') },
      found,
      signal: abort.signal,
    });
    const status = response.statusCode ?? 502;
    const carried = network.log.record({ ...entry, outcome: 'served', status }, egress);
    res.writeHead(status, responseHeaders(response.headers));
    await pipeline(response, createByteLimiter(network.limits.responseBytes, carried), res);
  } catch (error) {
    if (res.headersSent || res.destroyed) return void res.destroy();
    const reason = `network: ${formatEndpoint(target)} could not be reached: ${describeNetworkError(error)}`;
    network.log.record({ ...entry, outcome: 'failed', status: 502 }, egress, reason);
    sendText(res, 502, reason);
  }
}
