import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { answerText } from '../error-responses.ts';
import { capBytes } from '../cap-bytes.ts';
import { hasBody } from '../headers.ts';
import type { Network } from '../network.ts';
import { describeNetworkError } from '../network-error.ts';
import type { Outside } from '../upstream-request.ts';
import { findItem, linkStarts, mirrorPath, type RegistryItem } from './registries.ts';
import { replaceText } from '../replace-stream.ts';
import { formatTarget, targetOf } from '../egress/host-port.ts';

const MOST_REDIRECTS = 3;

/** The forms in which package managers want an answer, best first; a registry is told which of them the client names. */
const FORMS = [
  'application/vnd.npm.install-v1+json',
  'application/vnd.pypi.simple.v1+json',
  'application/vnd.pypi.simple.v1+html',
  'application/json',
  'text/html',
  '*/*',
];
const ONE_RANGE = /^bytes=(?:\d{1,12}-\d{0,12}|-\d{1,12})$/;
const FROM_REGISTRY = ['content-type', 'etag', 'last-modified', 'cache-control', 'content-range', 'accept-ranges'];

export interface MirrorDoor {
  network: Network;
  outside: Outside;
}

/** Whether a path is one of a mirror; those of archives of npm have no mark of their own. */
export function isForMirror({ network }: MirrorDoor, path: string): boolean {
  return path.startsWith('/~') || (network.registries.has('npm') && /\/-\/[^/]+\.tgz$/.test(path));
}

/** Serves GET and HEAD for what a registry has. Nothing goes out but the path, and the form in which it is wanted. */
export async function serveMirror(door: MirrorDoor, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { registries } = door.network;
  return serveItem(door, { req, res, item: findItem(registries, req.url ?? '') });
}

/** The same for apt, which names the server it wants: whatever that is, the mirror's upstream answers. */
export async function serveDebian(door: MirrorDoor, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const debian = door.network.registries.get('debian');
  const path = /^http:\/\/[^/?#]*(\/.*)$/i.exec(req.url ?? '')?.[1] ?? '';
  const own = `/~debian/${debian?.authority}${debian?.basePath}`;
  return serveItem(door, { req, res, item: findItem(door.network.registries, `${own}${path}`) });
}

interface Wanted {
  req: IncomingMessage;
  res: ServerResponse;
  item: RegistryItem | { reason: string };
}

async function serveItem({ network, outside }: MirrorDoor, { req, res, item }: Wanted): Promise<void> {
  const method = req.method ?? '';
  const entry = { method, target: req.url ?? '' };
  const place = { door: 'registry', target: 'reason' in item ? entry.target : nameOf(item) } as const;
  const refuse = (status: number, reason: string) => {
    network.ledger.refuse({ ...entry, status }, reason, place);
    res.once('finish', () => req.socket.destroySoon());
    answerText(res, status, reason);
  };
  if (method !== 'GET' && method !== 'HEAD') {
    return refuse(405, `network: ${method} refused; registries can be read, and nothing can be sent to them`);
  }
  if (hasBody(req)) return refuse(400, `network: ${method} with a body refused`);
  if ('reason' in item) return refuse(403, item.reason);
  const abort = new AbortController();
  res.once('close', () => abort.abort());
  try {
    const rewriting = item.rewritten && method === 'GET';
    const headers = requestHeaders(req.headers, rewriting);
    const answer = await follow({ network, outside }, { item, method, headers, signal: abort.signal });
    if ('reason' in answer) return refuse(502, answer.reason);
    await passOn(network, {
      req,
      res,
      item,
      answer,
      carried: network.ledger.record({ ...entry, outcome: 'served', status: answer.statusCode ?? 502 }, place),
    });
  } catch (error) {
    if (res.headersSent || res.destroyed) return void res.destroy();
    network.ledger.record({ ...entry, outcome: 'failed', status: 502 }, place);
    answerText(res, 502, `network: the registry ${item.registry.name} not reached: ${describeNetworkError(error)}`);
  }
}

interface Question {
  item: RegistryItem;
  method: 'GET' | 'HEAD';
  headers: OutgoingHttpHeaders;
  signal: AbortSignal;
}

/** Asks, and goes after redirects to hosts of the same registry. */
async function follow(
  { network, outside }: MirrorDoor,
  { item, ...question }: Question,
): Promise<IncomingMessage | { reason: string }> {
  const { registry } = item;
  let url = item.url;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const target = targetOf(url);
    const name = target === undefined ? url.host : formatTarget(target);
    if (target === undefined || registry.protocols.get(name) !== url.protocol) {
      return {
        reason: `network: the registry ${registry.name} leads to ${name}, which is not one of its hosts; see [network] registry_hosts`,
      };
    }
    const found = await network.addresses.find(target);
    if ('reason' in found) return found;
    const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
    const answer = await outside.ask({ ...question, protocol, target, path: `${url.pathname}${url.search}`, found });
    const { location } = answer.headers;
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.statusCode ?? 0) && location !== undefined;
    if (!isRedirect) return answer;
    answer.destroy();
    if (!URL.canParse(location, url.href)) break;
    url = new URL(location, url);
    if (url.username !== '' || url.password !== '') break;
  }
  return { reason: `network: the registry ${registry.name} leads to nowhere` };
}

interface Passing {
  req: IncomingMessage;
  res: ServerResponse;
  item: RegistryItem;
  answer: IncomingMessage;
  carried: (bytes: number) => void;
}

/** Streams the answer through, with links led to the mirror and no more bytes than an answer may have. */
async function passOn({ limits }: Network, { req, res, item, answer, carried }: Passing): Promise<void> {
  const status = answer.statusCode ?? 502;
  const links = status === 200 && item.rewritten && req.method === 'GET' ? linksOf(req, item) : [];
  if (links.length > 0 && !['identity', undefined].includes(answer.headers['content-encoding'])) {
    answer.destroy();
    return answerText(
      res,
      502,
      `network: the registry ${item.registry.name} sent a compressed answer, which was not asked for`,
    );
  }
  const kept = ['content-encoding', 'content-length'].filter(() => links.length === 0);
  const headers = [...FROM_REGISTRY, ...kept].flatMap((name) => {
    const value = answer.headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  const counted = capBytes(limits.answerBytes, carried);
  res.writeHead(status, Object.fromEntries(headers) as OutgoingHttpHeaders);
  await (links.length === 0 ? pipeline(answer, counted, res) : pipeline(answer, counted, replaceText(links), res));
}

/** Where the registry's own links lead in this sandbox. npm itself finds its archives at the path that they have upstream. */
function linksOf(req: IncomingMessage, { registry, authority }: RegistryItem): { from: string; to: string }[] {
  if (registry.name === 'npm' && /^npm\//.test(req.headers['user-agent'] ?? '')) return [];
  const here = `http://${/^(?:127\.0\.0\.1|localhost):\d{1,5}$/.exec(req.headers.host ?? '')?.[0] ?? '127.0.0.1'}`;
  const links = linkStarts(registry).map((link) => {
    return { from: link.start, to: `${here}${mirrorPath(registry.name, link.authority)}` };
  });
  if (registry.name !== 'pypi') return links;
  return [...links, { from: 'href="/', to: `href="${here}${mirrorPath('pypi', authority)}` }];
}

/** Made anew, so that no text of the client's goes out; without conditions, which could carry any, answers are whole. */
function requestHeaders(headers: IncomingHttpHeaders, rewriting: boolean): OutgoingHttpHeaders {
  const { range, 'if-range': condition } = headers;
  const partial = !rewriting && condition === undefined && range !== undefined && ONE_RANGE.test(range);
  return {
    accept: formsIn(headers.accept ?? ''),
    'accept-encoding': 'identity',
    'user-agent': 'halo',
    ...(partial ? { range } : {}),
  };
}

function formsIn(accept: string): string {
  const named = accept.split(',').map((form) => form.split(';')[0]?.trim().toLowerCase());
  const known = FORMS.filter((form) => named.includes(form));
  if (known.length === 0) return '*/*';
  return known.map((form, index) => (index === 0 ? form : `${form};q=${(1 - index / 10).toFixed(1)}`)).join(', ');
}

function nameOf({ registry, package: name }: RegistryItem): string {
  return `${registry.name}:${name.replace(/%2f/i, '/')}`;
}
