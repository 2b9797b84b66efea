import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { BlockList, connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';

export interface ConnectionOptions {
  proxies?: ProxySettings | undefined;
  /** Certificate authorities to trust in addition to the common ones, as PEM. */
  certificateAuthorities?: string | undefined;
}

/** A request to a server. `path` has the query. */
interface ConnectionRequest extends Target, Pick<RequestOptions, 'method' | 'headers' | 'signal' | 'timeout'> {
  protocol: 'http:' | 'https:';
  path: string;
  /** Resolves the name; not used through a proxy, which resolves it. */
  lookup?: LookupFunction;
}

/** Connections of this process to other machines: through the proxies of this machine, with its certificate authorities. */
export interface Connections {
  /** Whether a proxy is used, which then resolves the name of the target. */
  isProxied: (protocol: 'http:' | 'https:', target: Target) => boolean;
  /** Starts a request over a connection that may be used again. Errors are events of the request. */
  request(request: ConnectionRequest): ClientRequest;
  /** Opens a connection for any protocol. Throws network errors. */
  dial(target: Target, lookup?: LookupFunction): Promise<Socket>;
  /** What TLS connections of other programs of this process trust; undefined: the common certificate authorities. */
  trust: SecureContext | undefined;
  /** Closes the connections of requests. */
  close(): void;
}

const CONNECT_MS = 30_000;

export function openConnections({ proxies = NO_PROXIES, certificateAuthorities }: ConnectionOptions = {}): Connections {
  const trust = certificateAuthorities === undefined ? undefined : contextFor(certificateAuthorities);
  const kept = { keepAlive: true, maxSockets: 32, ...(trust === undefined ? {} : { secureContext: trust }) };
  const agents = { 'http:': new HttpAgent(kept), 'https:': new TunnelAgent(proxies, trust, kept) };
  const proxyAgents = { 'http:': agents['http:'], 'https:': new HttpsAgent(kept) };
  return {
    trust,
    isProxied: (protocol, target) => findProxy(proxies, protocol, target) !== undefined,
    request: ({ protocol, lookup, ...request }) => {
      const pinned = { ...request, ...(lookup === undefined ? {} : { lookup }) };
      if (protocol === 'https:') return httpsRequest({ ...pinned, agent: agents[protocol] });
      const proxy = findProxy(proxies, protocol, request);
      if (proxy === undefined) return httpRequest({ ...pinned, agent: agents[protocol] });
      const host = nameOf(request).replace(/:80$/, '');
      const secure = proxy.protocol === 'https:';
      const headers = { host, ...request.headers, ...authorizationOf(proxy) };
      const asked = { ...request, ...addressOf(proxy), path: `http://${host}${request.path}`, headers };
      return secure
        ? httpsRequest({ ...asked, agent: proxyAgents['https:'] })
        : httpRequest({ ...asked, agent: proxyAgents['http:'] });
    },
    dial: (target, lookup) => {
      const proxy = findProxy(proxies, 'https:', target);
      return proxy === undefined ? dialDirectly(target, lookup) : connectThrough(proxy, target, trust);
    },
    close: () => [...Object.values(agents), proxyAgents['https:']].forEach((agent) => agent.destroy()),
  };
}

/** The last one. To make one takes 10 ms, and a process has few certificate authorities. */
let trusted: { certificateAuthorities: string; context: SecureContext } | undefined;

function contextFor(certificateAuthorities: string): SecureContext {
  if (trusted?.certificateAuthorities !== certificateAuthorities) {
    const context = createSecureContext({ ca: [...rootCertificates, certificateAuthorities] });
    trusted = { certificateAuthorities, context };
  }
  return trusted.context;
}

/** Opens TLS connections, through a proxy where one applies. */
class TunnelAgent extends HttpsAgent {
  private readonly proxies: ProxySettings;
  private readonly trust: SecureContext | undefined;

  constructor(proxies: ProxySettings, trust: SecureContext | undefined, options: object) {
    super(options);
    this.proxies = proxies;
    this.trust = trust;
  }

  override createConnection(
    options: RequestOptions,
    done?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const target = { host: options.host ?? '', port: Number(options.port) };
    const proxy = findProxy(this.proxies, 'https:', target);
    if (proxy === undefined) return super.createConnection(options, done);
    connectThrough(proxy, target, this.trust).then(
      (socket) => done?.(null, super.createConnection({ ...options, socket } as RequestOptions) as Duplex),
      (error: unknown) => done?.(error as Error, undefined as never),
    );
    return undefined;
  }
}

function dialDirectly(target: Target, lookup: LookupFunction | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, ...(lookup === undefined ? {} : { lookup }), allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.on('error', reject);
    socket.once('close', reject);
  });
}

/** Opens a connection through a proxy with CONNECT. Errors name the proxy and have the code EPROXY. */
function connectThrough(proxy: URL, target: Target, trust: SecureContext | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const name = nameOf(target);
    const fail = (why: string, cause?: unknown) =>
      reject(Object.assign(new Error(`the proxy ${describeProxy(proxy)} ${why}`, { cause }), { code: 'EPROXY' }));
    const options = {
      ...addressOf(proxy),
      method: 'CONNECT',
      path: name,
      headers: { host: name, ...authorizationOf(proxy) },
      agent: false,
      timeout: CONNECT_MS,
    } as const;
    const asked =
      proxy.protocol === 'https:'
        ? httpsRequest({ ...options, ...(trust === undefined ? {} : { secureContext: trust }) })
        : httpRequest(options);
    asked.once('connect', ({ statusCode }, socket: Socket, head) => {
      if (statusCode !== 200) {
        socket.destroy();
        return fail(`answered ${statusCode}`);
      }
      socket.setTimeout(0);
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    asked.once('response', (response) => {
      response.destroy();
      fail(`answered ${response.statusCode}`);
    });
    asked.once('timeout', () => asked.destroy(new Error('it did not answer in time')));
    asked.on('error', (error) => fail(`could not be reached: ${error.message}`, error));
    asked.end();
  });
}

/** Without `servername`, Node would expect the certificate of the target, which the header Host names. */
function addressOf({ hostname, port, protocol }: URL): Target & { servername: string } {
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: Number(port || (protocol === 'https:' ? 443 : 80)), servername: isIP(host) === 0 ? host : '' };
}

function authorizationOf({ username, password }: URL): { 'proxy-authorization'?: string } {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

function nameOf({ host, port }: Target): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The proxies through which this machine reaches others. */
export interface ProxySettings {
  /** For `http://` URLs. */
  http: URL | undefined;
  /** For `https://` URLs and all other connections. */
  https: URL | undefined;
  /** What is reached without a proxy: the entries of NO_PROXY. */
  direct: readonly string[];
}

/** A host, without brackets, and a port. */
interface Target {
  host: string;
  port: number;
}

const NO_PROXIES: ProxySettings = { http: undefined, https: undefined, direct: [] };

/**
 * Finds the proxy for a target. As in Go, this machine itself is always reached directly, and an entry of NO_PROXY is `*`, an
 * IP address, a CIDR block, or a domain with its subdomains; each may have a port.
 */
export function findProxy(
  { http, https, direct }: ProxySettings,
  protocol: 'http:' | 'https:',
  target: Target,
): URL | undefined {
  const proxy = protocol === 'http:' ? http : https;
  if (proxy === undefined || isThisMachine(target.host)) return undefined;
  return direct.some((entry) => matches(entry.toLowerCase(), target)) ? undefined : proxy;
}

/** The address of a proxy, without user and password. */
function describeProxy({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}

function matches(entry: string, { host, port }: Target): boolean {
  if (entry === '*') return true;
  const [, name = '', only] = /^(\[[^\]]+\]|[^:]+|[0-9a-f:./]+?)(?::(\d+))?$/.exec(entry) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const plain = name.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return plain === host || isInBlock(plain, host);
  const domain = plain.replace(/^\*?\./, '');
  return domain !== '' && (host === domain || host.endsWith(`.${domain}`));
}

function isInBlock(block: string, address: string): boolean {
  const [network = '', bits] = block.split('/');
  const family = isIP(network) === 4 ? 'ipv4' : 'ipv6';
  const max = family === 'ipv4' ? 32 : 128;
  if (isIP(network) === 0 || isIP(address) !== isIP(network) || !/^\d{1,3}$/.test(bits ?? '') || Number(bits) > max)
    return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(address, family);
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || /^127\./.test(host) || host === '::1';
}
