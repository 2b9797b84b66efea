import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { RegistryName } from '../../core/journal/egress-events.ts';
import type { CertificateAuthority } from '../../lib/network/certificate-authority.ts';
import { parseEndpoint } from '../egress/host-port.ts';
import { registryProxyPath, resolveRegistryItem, type Registries } from './registries.ts';

/** Hosts of public registries that lockfiles name; their packages are read from the upstream. `base`: where packages begin. */
const PUBLIC_HOSTS: Record<RegistryName, { host: string; base: string }[]> = {
  npm: ['npmjs.org', 'yarnpkg.com'].map((domain) => ({ host: `registry.${domain}:443`, base: '' })),
  pypi: [{ host: 'pypi.org:443', base: '/simple' }],
  crates: [{ host: 'index.crates.io:443', base: '' }],
  go: [{ host: 'proxy.golang.org:443', base: '' }],
  debian: [],
};

/** Serves tunnels to registries by itself, so that the rules, credentials and the cache of registries apply to their requests. */
export interface RegistryTunnels {
  /** Whether a tunnel to a canonical `host:port` is served here. */
  serves(target: string): boolean;
  /** Ends the TLS of a tunnel. Its requests arrive at the returned connection. */
  open(target: string, socket: Duplex): Duplex;
  /** Changes the URL of a request in such a tunnel to its path in the registry proxy. */
  rewrite(req: IncomingMessage): void;
}

/** Opens the tunnels of one gateway. The sandbox must trust the authority. */
export function openRegistryTunnels(registries: Registries, authority: CertificateAuthority): RegistryTunnels {
  const prefixes = findPrefixes(registries);
  const contexts = new Map<string, ReturnType<typeof createSecureContext>>();
  const targets = new WeakMap<object, string>();
  return {
    serves: (target) => prefixes.has(target),
    open: (target, socket) => {
      const host = parseEndpoint(target)?.host ?? '';
      const secureContext = contexts.get(target) ?? createSecureContext(authority.issue(host));
      contexts.set(target, secureContext);
      const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
      targets.set(secure, target);
      secure.on('error', () => secure.destroy());
      return secure;
    },
    rewrite: (req) => {
      const target = targets.get(req.socket);
      if (target === undefined) return;
      const paths = (prefixes.get(target) ?? []).map(({ from, to }) => {
        const url = req.url ?? '';
        return url.startsWith(`${from}/`) ? `${to}${url.slice(from.length + 1)}` : `${to}${url}`;
      });
      // Several registries may be on one host, below different paths.
      req.url = paths.find((path) => !('reason' in resolveRegistryItem(registries, path))) ?? paths[0] ?? '/~';
    },
  };
}

/** By host: how the path of a URL continues a path in the registry proxy, which ends with a slash. */
function findPrefixes(registries: Registries): Map<string, { from: string; to: string }[]> {
  const prefixes = new Map<string, { from: string; to: string }[]>();
  const add = (host: string, from: string, to: string) =>
    prefixes.set(host, [...(prefixes.get(host) ?? []), { from, to }]);
  for (const { name, protocols } of registries.values())
    for (const [host, protocol] of protocols) if (protocol === 'https:') add(host, '', registryProxyPath(name, host));
  for (const { name, authority, basePath } of registries.values())
    for (const { host, base } of PUBLIC_HOSTS[name])
      if (!registries.get(name)?.protocols.has(host))
        add(host, base, `${registryProxyPath(name, authority)}${basePath === '' ? '' : `${basePath.slice(1)}/`}`);
  return prefixes;
}
