import type { ServerRules } from '../config/config.ts';
import { HaloError } from '../core/failure/errors.ts';
import { openAddressBook, type Lookup } from '../gateway/egress/addresses.ts';
import { formatTarget, parseTarget, targetOf, type Target } from '../gateway/egress/host-port.ts';
import { isAbsolute } from 'node:path';
import { isUrl, readRemote } from '../git/repository/repo-url.ts';

/** A repository that a request over the network may name. */
export interface RequestedRepo {
  /** A path, or the address in a form that all programs read alike. */
  source: string;
  /** Of an http address: where its host is, as git's `http.curloptResolve` wants it. */
  pinned?: string;
}

const SSH = /^ssh:\/\/(?:[\w.-]+@)?([\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?\/\S*$/i;
const SCP_LIKE = /^(?:[\w.-]+@)?([\w.-]+):\S+$/;

/**
 * What a request over the network may name as a repository: an absolute path, or an address over https, http or ssh whose
 * server is on the public internet or in `server.private`. Whether something listens at another address cannot be told
 * from the answer: nothing is asked there. Throws USAGE and REPO_UNREACHABLE.
 */
export async function checkRequestedRepo(source: string, rules: ServerRules, lookup?: Lookup): Promise<RequestedRepo> {
  if (isAbsolute(source)) return { source };
  const plain = isUrl(source) ? readRemote(source).address : undefined;
  const target = plain === undefined ? undefined : findTarget(plain);
  if (target === undefined) {
    throw new HaloError('USAGE', `${source} is no repository that a request may name.`, {
      hint: 'Name an absolute path on the machine of the server, or an address like https://git.example.com/team/repo.git or git@git.example.com:team/repo.git.',
    });
  }
  const found = await openAddressBook({ mayBePrivate: new Set(rules.private), ...(lookup && { lookup }) })
    .find(target)
    .catch(() => ({ addresses: [] }));
  const name = formatTarget(target);
  if ('reason' in found || found.addresses.length === 0) {
    throw new HaloError('REPO_UNREACHABLE', `The server of the repository, ${name}, has no public address.`, {
      hint: `If it is one of this network, whoever runs the halo server can allow it in config.toml of HALO_HOME: [server] private = ["${name}"].`,
    });
  }
  if (!/^https?:/i.test(source)) return { source };
  const { href } = new URL(source);
  const addresses = found.addresses.map((address) => (address.includes(':') ? `[${address}]` : address));
  return { source: href, pinned: `${target.host}:${target.port}:${addresses.join(',')}` };
}

function findTarget(address: string): Target | undefined {
  if (/^https?:/i.test(address)) return targetOf(new URL(address));
  const [, host, port = '22'] = SSH.exec(address) ?? [];
  if (host !== undefined) return parseTarget(`${host}:${port}`);
  const [, named] = address.includes('://') ? [] : (SCP_LIKE.exec(address) ?? []);
  return named === undefined ? undefined : parseTarget(`${named}:22`);
}
