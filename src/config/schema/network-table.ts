import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { REGISTRIES, type RegistryName } from '../../core/journal/egress-events.ts';
import { key } from './key-metadata.ts';
import { ANYONE, HOST_FILE, landRight, OPENS_NETWORK, owner } from '../trust/key-trust.ts';
import {
  BaseUrl,
  byQuotedName,
  GitUrl,
  HostPath,
  HostPort,
  oneOf,
  RegistryList,
  Size,
  Text,
  VariableName,
} from './values.ts';

const EXAMPLE = '[network.credentials."npm.example.com"] with token_env';

const Credential = z
  .strictObject({
    scheme: oneOf('bearer', 'basic', 'token').optional(),
    user: z
      .string({ error: 'must be a string' })
      .regex(/^[\x21-\x39\x3b-\x7e]{1,200}$/, 'must be a user name without spaces and colons')
      .optional(),
    token_env: VariableName.optional(),
    token_file: Text.refine(isAbsolute, 'must be an absolute path').optional(),
    token_command: Text.optional(),
  })
  .refine(
    ({ token_env, token_file, token_command }) =>
      [token_env, token_file, token_command].filter((source) => source !== undefined).length === 1,
    'must have one of token_env, token_file and token_command',
  )
  .refine(({ scheme, user }) => (scheme === 'basic') === (user !== undefined) || scheme === undefined, {
    error: 'must have a user for the scheme "basic", and for no other',
  });

const Credentials = byQuotedName(EXAMPLE, {
  name: z
    .string()
    .regex(/^(?!__proto__$)[\w.-]+(?::\d{1,5})?(?:\/[\w.~@/-]*)?$/, 'is not an address like "npm.example.com"'),
  member: Credential,
});

/** `[network]`: hosts and registries that setup and the agent may connect to. */
export const NetworkTable = z.strictObject({
  allow: key(
    z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }),
    [
      'list of host:port',
      [],
      'Hosts to which setup may connect through the gateway, never the agent or the gates. Before the gates, [setup runs code of the story](network.md).',
    ],
    { ...landRight('fewer'), publicHosts: true },
  ),
  channel: key(
    oneOf('auto', 'socket', 'stdio'),
    [
      'word',
      'auto',
      '[Connection](sandbox.md#the-channel) between sandbox and gateway: a Unix `socket`, or `stdio`; `auto`: `socket` if possible.',
    ],
    ANYONE,
  ),
  private: key(
    z.array(HostPort, { error: 'must be a list like ["packages.example.com:443"]' }),
    [
      'list of host:port',
      [],
      'Entries of `allow` that may have addresses that are [not public](network.md#addresses).',
    ],
    owner(OPENS_NETWORK),
  ),
  registries: key(
    RegistryList,
    [
      'list of words',
      [],
      '[Package registries](network.md#registries) that setup may read: `npm`, `pypi`, `crates`, `go`, `debian`.',
    ],
    landRight('fewer'),
  ),
  agent_registries: key(
    RegistryList,
    ['list of words', [], 'Package registries that the agent may read.'],
    owner(OPENS_NETWORK),
  ),
  registry_hosts: key(
    z.array(HostPort, { error: 'must be a list like ["files.example.com:443"]' }),
    ['list of host:port', [], 'Further hosts that responses of a registry may link to, reached with TLS.'],
    owner(OPENS_NETWORK),
  ),
  git: key(
    z.array(GitUrl, { error: 'must be a list like ["https://git.example.com/team/"]' }),
    [
      'list of strings',
      [],
      'URLs of [git repositories](network.md#git-dependencies) that setup may fetch through the gateway: everything below them.',
    ],
    owner(OPENS_NETWORK),
  ),
  upstreams: z.strictObject(
    Object.fromEntries(REGISTRIES.map((name) => [name, upstream(name)])) as Record<
      RegistryName,
      ReturnType<typeof upstream>
    >,
  ),
  scopes: key(
    z.record(z.string().regex(/^@[\w.~-]+$/, 'is not a scope like "@acme"'), BaseUrl, {
      error: 'must be a table of strings, like "@acme" = "https://npm.example.com"',
    }),
    ['table of strings', {}, 'Base URLs of the npm registries of scopes: `"@acme" = "https://npm.example.com"`.'],
    HOST_FILE,
  ),
  credentials: key(
    Credentials,
    [
      'table of tables',
      {},
      '[Credentials of registries](network.md#private-registries) by address: `token_env`, `token_file` or `token_command`, `user`, and `scheme`: `bearer`, `basic` or `token`.',
    ],
    HOST_FILE,
  ),
  cache_size: key(
    Size,
    [
      'size',
      '5g',
      'Maximum size of the [cache of archives](network.md#cache); those unused for the longest time go first.',
    ],
    HOST_FILE,
  ),
  ca_file: key(
    HostPath.optional(),
    [
      'path',
      undefined,
      'PEM file of certificate authorities that setup, gateways and connections to forges trust as well. Default: NODE_EXTRA_CA_CERTS of the worker.',
    ],
    owner('give sandboxes a file of this machine'),
  ),
});

/** The upstream URL of a registry proxy. */
function upstream(name: RegistryName) {
  const meanings: Record<RegistryName, string> = {
    npm: 'Upstream URL of the npm proxy. Default: the registry in the worker’s npm settings.',
    pypi: 'Upstream URL of the PyPI proxy: an index, which ends with `/simple`. Default: `https://pypi.org/simple`.',
    crates: 'Upstream URL of the crates.io proxy: a sparse index. Default: `https://index.crates.io`.',
    go: 'Upstream URL of the proxy for Go modules. Default: `https://proxy.golang.org`.',
    debian:
      'Upstream URL of the Debian proxy: the part before `/debian`. Default: the source in the worker’s apt settings.',
  };
  return key(BaseUrl.optional(), ['URL', undefined, meanings[name]], owner(OPENS_NETWORK));
}
