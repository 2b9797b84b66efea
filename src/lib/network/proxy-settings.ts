import { BlockList, isIP } from 'node:net';

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
export interface Target {
  host: string;
  port: number;
}

export const NO_PROXIES: ProxySettings = { http: undefined, https: undefined, direct: [] };

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
export function describeProxy({ hostname, port, protocol }: URL): string {
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
