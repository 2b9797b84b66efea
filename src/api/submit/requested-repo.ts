import type { Settings } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { createAddressResolver, type Lookup } from '../../gateway/egress/addresses.ts';
import { formatEndpoint, parseEndpoint, endpointOfUrl, type Endpoint } from '../../gateway/egress/host-port.ts';
import { isAbsolute } from 'node:path';
import { isUrl, parseRemote } from '../../git/repository/repo-url.ts';

/** A repository that a request over the network may name. */
export interface RequestedRepo {
  /** A path, or the URL in a form that all programs read in the same way. */
  source: string;
  /** For an HTTP URL: the addresses of its host, in the format of git's `http.curloptResolve`. */
  pinned?: string;
}

const SSH = /^ssh:\/\/(?:[\w.-]+@)?([\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?\/\S*$/i;
const SCP_LIKE = /^(?:[\w.-]+@)?([\w.-]+):\S+$/;

/**
 * The repositories that a request over the network may name: an absolute path, or an address over https, http or ssh
 * whose server is on the public internet or in `server.private`. halo contacts no other address, so that the answer
 * does not reveal whether something listens there. Throws USAGE and REPO_UNREACHABLE.
 */
export async function resolveRequestedRepo(
  source: string,
  rules: Pick<Settings['server'], 'private'>,
  lookup?: Lookup,
): Promise<RequestedRepo> {
  if (isAbsolute(source)) return { source };
  const target = isUrl(source) ? findTarget(source, parseRemote(source).address) : undefined;
  if (target === undefined) {
    throw new HaloError('USAGE', `${source} is not a repository that a request may use.`, {
      hint: 'Use an absolute path on the machine of the server, or an address like https://git.example.com/team/repo.git or git@git.example.com:team/repo.git.',
    });
  }
  const found = await createAddressResolver({ mayBePrivate: new Set(rules.private), ...(lookup && { lookup }) })
    .find(target)
    .catch(() => ({ addresses: [] }));
  const name = formatEndpoint(target);
  if ('reason' in found || found.addresses.length === 0) {
    throw new HaloError('REPO_UNREACHABLE', `The server of the repository, ${name}, has no public address.`, {
      hint: `If it is a server of your network, add it to config.toml of HALO_HOME on the server: [server] private = ["${name}"].`,
    });
  }
  if (!/^https?:/i.test(source)) return { source };
  const { href } = new URL(source);
  const addresses = found.addresses.map((address) => (address.includes(':') ? `[${address}]` : address));
  return { source: href, pinned: `${target.host}:${target.port}:${addresses.join(',')}` };
}

/** The server to which git will connect. Over HTTP, that of the source as it is passed on, not of an address made from it. */
function findTarget(source: string, address: string): Endpoint | undefined {
  if (/^https?:/i.test(source)) return endpointOfUrl(new URL(source));
  const [, host, port = '22'] = SSH.exec(address) ?? [];
  if (host !== undefined) return parseEndpoint(`${host}:${port}`);
  const [, named] = address.includes('://') ? [] : (SCP_LIKE.exec(address) ?? []);
  return named === undefined ? undefined : parseEndpoint(`${named}:22`);
}
