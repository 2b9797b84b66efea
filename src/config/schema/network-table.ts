import { z } from 'zod';
import { REGISTRIES, type RegistryName } from '../../core/journal/egress-events.ts';
import { key } from './key-metadata.ts';
import { OPENS_NETWORK, owner } from '../trust/key-trust.ts';
import { BaseUrl, HostPort, oneOf, RegistryList, Text } from './values.ts';

/** `[network]`: where setup and the agent may connect to. */
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
  agent_registries: key(RegistryList, ['list of words', [], 'The same for the agent.'], owner(OPENS_NETWORK)),
  registry_hosts: key(
    z.array(HostPort, { error: 'must be a list like ["files.example.com:443"]' }),
    ['list of host:port', [], 'Additional hosts, with TLS, to which answers of a registry may link.'],
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
      'PEM file of additional certificate authorities that setup and the registry proxies trust. Without it, the worker’s NODE_EXTRA_CA_CERTS.',
    ],
    owner('choose a file of this machine that sandboxes get'),
  ),
});

/** What the mirror of a registry reads from. */
function upstream(name: RegistryName) {
  const meanings: Record<RegistryName, string> = {
    npm: 'Base URL of the upstream of the npm proxy. Without it, the registry of the worker’s own npm.',
    pypi: 'The same for PyPI: its index, which ends with `/simple`. Without it, `https://pypi.org/simple`.',
    crates: 'The same for crates.io: its sparse index. Without it, `https://index.crates.io`.',
    go: 'The same for Go modules. Without it, `https://proxy.golang.org`.',
    debian: 'The same for Debian: the part before `/debian`. Without it, that of the worker’s own apt.',
  };
  return key(BaseUrl.optional(), ['URL', undefined, meanings[name]], owner(OPENS_NETWORK));
}
