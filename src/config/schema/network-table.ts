import { z } from 'zod';
import { REGISTRIES, type RegistryName } from '../../core/journal/egress-events.ts';
import { key } from './key-metadata.ts';
import { OPENS_NETWORK, owner } from '../trust/key-trust.ts';
import { BaseUrl, HostPort, oneOf, RegistryList, Text } from './values.ts';

/** `[network]`: hosts and registries that setup and the agent may connect to. */
export const NetworkTable = z.strictObject({
  allow: key(
    z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }),
    [
      'list of host:port',
      [],
      'Hosts to which setup may connect through the gateway, never the agent or the gates. Before the gates, [setup runs code of the story](network.md).',
    ],
    { rule: 'public-hosts' },
  ),
  channel: key(oneOf('auto', 'socket', 'stdio'), [
    'word',
    'auto',
    '[Connection](security.md#the-channel) between sandbox and gateway.',
  ]),
  private: key(
    z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }),
    ['list of host:port', [], 'Allowed hosts that may have addresses that are [not public](network.md#addresses).'],
    owner(OPENS_NETWORK),
  ),
  registries: key(RegistryList, [
    'list of words',
    [],
    'Package registries that setup may read through the gateway’s [proxy](network.md#registries): `npm`, `pypi`, `crates`, `go`, `debian`.',
  ]),
  agent_registries: key(
    RegistryList,
    [
      'list of words',
      [],
      'Package registries that the agent may read through the gateway’s [proxy](network.md#registries).',
    ],
    owner(OPENS_NETWORK),
  ),
  registry_hosts: key(
    z.array(HostPort, { error: 'must be a list like ["files.example.com:443"]' }),
    ['list of host:port', [], 'Additional hosts that responses of a registry may link to, reached with TLS.'],
    owner(OPENS_NETWORK),
  ),
  upstreams: z.strictObject(
    Object.fromEntries(REGISTRIES.map((name) => [name, upstream(name)])) as Record<
      RegistryName,
      ReturnType<typeof upstream>
    >,
  ),
  ca_file: key(
    Text.optional(),
    [
      'path',
      undefined,
      'PEM file of additional certificate authorities that setup and the registry proxies trust. Default: the file in the worker’s NODE_EXTRA_CA_CERTS.',
    ],
    owner('give sandboxes a file of this machine'),
  ),
});

/** The upstream URL of a registry proxy. */
function upstream(name: RegistryName) {
  const meanings: Record<RegistryName, string> = {
    npm: 'Upstream base URL of the npm proxy. Default: the registry in the npm settings of the worker’s machine.',
    pypi: 'Upstream base URL of the PyPI proxy: an index, which ends with `/simple`. Default: `https://pypi.org/simple`.',
    crates: 'Upstream base URL of the crates.io proxy: a sparse index. Default: `https://index.crates.io`.',
    go: 'Upstream base URL of the proxy for Go modules. Default: `https://proxy.golang.org`.',
    debian:
      'Upstream base URL of the Debian proxy: the part before `/debian`. Default: the source in the apt settings of the worker’s machine.',
  };
  return key(BaseUrl.optional(), ['URL', undefined, meanings[name]], owner(OPENS_NETWORK));
}
