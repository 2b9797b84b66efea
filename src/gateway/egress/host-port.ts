import { isIPv4, isIPv6 } from 'node:net';
import { HaloError } from '../../core/failure/errors.ts';

/** A host and port in canonical form. */
export interface Endpoint {
  /** Lower-case name of LDH labels, or an IP address without brackets. */
  host: string;
  port: number;
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Parses `host:port`. Returns undefined for anything that two parsers could interpret differently. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const parts = /^(\[[^\]]*\]|[^:[\]]+):([1-9]\d{0,4})$/.exec(text);
  const host = parts?.[1] === undefined ? undefined : readHost(parts[1].toLowerCase());
  const port = Number(parts?.[2]);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** The canonical `host:port`, with brackets around an IPv6 address. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The endpoint of an http or https URL. */
export function endpointOfUrl({ protocol, hostname, port }: URL): Endpoint | undefined {
  return parseEndpoint(`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`);
}

/** Parses an allow list to canonical endpoints; `key` is the name of the list. Throws CONFIG_INVALID. */
export function parseAllowList(entries: readonly string[], key = 'allow'): ReadonlySet<string> {
  return new Set(
    entries.map((entry) => {
      const target = parseEndpoint(entry);
      if (target !== undefined) return formatEndpoint(target);
      throw new HaloError('CONFIG_INVALID', `[network] ${key} contains "${entry}", which is not a host:port.`, {
        hint: 'Write it like "packages.example.com:443": one exact host name or IP address, and a port.',
      });
    }),
  );
}

function readHost(text: string): string | undefined {
  if (text.startsWith('[')) return readIPv6(text.slice(1, -1));
  if (isIPv4(text)) return text;
  const labels = text.split('.');
  if (text.length > 253 || !labels.every((label) => LABEL.test(label))) return undefined;
  // Resolvers interpret 0x7f.1, 017700000001 and 2130706433 as IPv4 addresses.
  return /^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '') ? undefined : text;
}

function readIPv6(text: string): string | undefined {
  if (!isIPv6(text) || text.includes('%')) return undefined;
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}
