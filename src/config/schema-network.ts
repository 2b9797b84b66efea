import { z } from 'zod';
import { REGISTRIES, type RegistryName } from '../core/network.ts';
import { key } from './key-facts.ts';
import { BaseUrl, HostPort, oneOf, Registries, Text } from './schema/values.ts';

/** `[network]`: where setup and the agent may connect to. */
export const NetworkTable = z.strictObject({
  allow: key(z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }), [
    'list of host:port',
    [],
    'Where setup may connect to, through the gateway; before the gates, [setup runs code of the story](network.md). Never the agent itself or the gates.',
  ]),
  channel: key(oneOf('auto', 'socket', 'stdio'), ['word', 'auto', '[The way](security.md#the-channel) to halo.']),
  private: key(z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }), [
    'list of host:port',
    [],
    'Those of the allowed names that may have an address which is [not public](network.md#addresses).',
  ]),
  registries: key(Registries, [
    'list of words',
    [],
    'Package registries that setup may read through the gateway’s [mirror](network.md#registries): `npm`, `pypi`, `crates`, `go`, `debian`.',
  ]),
  agent_registries: key(Registries, ['list of words', [], 'The same for the agent.']),
  registry_hosts: key(z.array(HostPort, { error: 'must be a list like ["files.example.com:443"]' }), [
    'list of host:port',
    [],
    'Further hosts to which answers of a registry may lead, with TLS.',
  ]),
  upstreams: z.strictObject(
    Object.fromEntries(REGISTRIES.map((name) => [name, upstream(name)])) as Record<
      RegistryName,
      ReturnType<typeof upstream>
    >,
  ),
  ca_file: key(Text.optional(), [
    'path',
    undefined,
    'PEM file of certificate authorities that setup and the gateway’s mirror trust besides the common ones, for networks with their own. Without it, the worker’s NODE_EXTRA_CA_CERTS.',
  ]),
});

/** What the mirror of a registry reads from. */
function upstream(name: RegistryName) {
  const meanings: Record<RegistryName, string> = {
    npm: 'Base URL of what the mirror of npm reads from. Without it, the registry of the worker’s own npm.',
    pypi: 'The same for PyPI: its index, which ends with `/simple`. Without it, `https://pypi.org/simple`.',
    crates: 'The same for crates.io: its sparse index. Without it, `https://index.crates.io`.',
    go: 'The same for Go modules. Without it, `https://proxy.golang.org`.',
    debian: 'The same for Debian: the part before `/debian`. Without it, that of the worker’s own apt.',
  };
  return key(BaseUrl.optional(), ['URL', undefined, meanings[name]]);
}
