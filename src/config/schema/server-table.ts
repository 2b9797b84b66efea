import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { ROLES } from '../../core/access/access.ts';
import { key } from './key-metadata.ts';
import { HOST_FILE } from '../trust/key-trust.ts';
import { BaseUrl, Duration, HostPath, HostPort, oneOf, Text, VariableName, wholeNumber } from './values.ts';

const ClaimName = z
  .string({ error: 'must be a string' })
  .regex(/^[\w:/.-]{1,200}$/, 'must be the name of a claim, like "email"');

/** `[server.oidc]`: sign-in in a browser through an OpenID Connect provider. */
const OidcTable = z
  .strictObject({
    issuer: key(
      BaseUrl.optional(),
      ['URL', undefined, `The issuer of the [OpenID Connect provider](fleet.md#sign-in).`],
      HOST_FILE,
    ),
    client_id: key(Text.optional(), ['string', undefined, `The id of halo at the provider.`], HOST_FILE),
    client_secret_env: key(
      VariableName.optional(),
      ['variable name', undefined, `Variable of the server with the client secret.`],
      HOST_FILE,
    ),
    client_secret_file: key(
      Text.refine(isAbsolute, 'must be an absolute path').optional(),
      ['path', undefined, `File with the client secret.`],
      HOST_FILE,
    ),
    client_secret_command: key(
      Text.optional(),
      ['string', undefined, `Command that prints the client secret.`],
      HOST_FILE,
    ),
    user_claim: key(
      ClaimName,
      ['string', 'email', `The claim that is the name of the user. \`email\` must be verified by the provider.`],
      HOST_FILE,
    ),
    groups_claim: key(ClaimName, ['string', 'groups', `The claim with the groups of the user.`], HOST_FILE),
    roles: key(
      z.record(z.string(), oneOf(...ROLES), { error: 'must be a table like { "platform" = "operator" }' }),
      [
        'table of strings',
        {},
        `Roles by group, such as \`{ platform = "operator" }\`: at each sign-in, the highest of a user’s groups. Empty: only \`halo user set\` changes roles.`,
      ],
      HOST_FILE,
    ),
    new_users: key(
      oneOf(...ROLES).optional(),
      [
        'word',
        undefined,
        `Role of persons who sign in for the first time. Default: only users of \`halo user add\` or \`roles\` can sign in.`,
      ],
      HOST_FILE,
    ),
    session: key(Duration, ['duration', '12h', `How long a sign-in is valid.`], HOST_FILE),
  })
  .superRefine((oidc, context) => {
    const { issuer, client_id, client_secret_env, client_secret_file, client_secret_command } = oidc;
    const need = (name: string, message: string) => context.addIssue({ code: 'custom', path: [name], message });
    const sources = [client_secret_env, client_secret_file, client_secret_command].filter((each) => each !== undefined);
    if (issuer === undefined) {
      if (client_id !== undefined || sources.length > 0) need('issuer', 'is missing: the URL of the provider');
      return;
    }
    if (client_id === undefined) need('client_id', 'is missing: the id of halo at the provider');
    if (sources.length !== 1)
      need(
        'client_secret_file',
        'is missing, or not the only one of client_secret_env, client_secret_file and client_secret_command',
      );
  });

/** `[server]`: additional permissions of requests over the HTTP API. */
export const ServerTable = z
  .strictObject({
    url: key(
      BaseUrl.optional(),
      [
        'URL',
        undefined,
        'Address of the server for its users, such as `https://halo.example.com`. Required for `[server.oidc]`.',
      ],
      HOST_FILE,
    ),
    private: key(
      z.array(HostPort, { error: 'must be a list like ["git.example.com:443"]' }),
      [
        'list of host:port',
        [],
        'Repository servers that requests may use even though their addresses are [not public](network.md#addresses).',
      ],
      HOST_FILE,
    ),
    options: key(
      z.array(z.string(), { error: 'must be a list of keys like ["limits.wall"]' }),
      [
        'list of keys',
        [],
        'Keys that [a request may set](#what-a-request-may-set) freely, unless it may never set them.',
      ],
      HOST_FILE,
    ),
    requests_per_minute: key(
      wholeNumber(0, 1_000_000),
      ['whole number', 1200, 'Requests of one user per minute; 0: no limit. The owner of the server has none.'],
      HOST_FILE,
    ),
    behind_proxy: key(
      z.boolean({ error: 'must be true or false' }),
      [
        'true or false',
        false,
        'Whether a proxy on this machine forwards requests. The access log then takes addresses of clients from `X-Forwarded-For`.',
      ],
      HOST_FILE,
    ),
    metrics: key(
      oneOf('token', 'public'),
      [
        'word',
        'token',
        'Who may read [`/metrics`](monitoring.md): `token`: users of all repositories; `public`: everyone who reaches the server.',
      ],
      HOST_FILE,
    ),
    tls_certificate: key(
      HostPath.optional(),
      ['path', undefined, 'PEM file of the certificate for [HTTPS](fleet.md#tls), with its chain.'],
      HOST_FILE,
    ),
    tls_key: key(HostPath.optional(), ['path', undefined, 'PEM file of its private key.'], HOST_FILE),
    oidc: OidcTable,
  })
  .superRefine(({ tls_certificate, tls_key, oidc, url }, context) => {
    const need = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (tls_certificate !== undefined && tls_key === undefined)
      need(['tls_key'], 'is missing: the certificate has one');
    if (tls_key !== undefined && tls_certificate === undefined)
      need(['tls_certificate'], 'is missing: the key has one');
    if (oidc.issuer !== undefined && url === undefined)
      need(['url'], 'is missing: the provider sends users back to this address');
  });

/** `[mcp]`: what clients of the MCP server may do. */
export const McpTable = z.strictObject({
  decide: key(
    z.boolean({ error: 'must be true or false' }),
    [
      'true or false',
      false,
      'Whether [MCP clients](mcp.md#deciding-tools) may answer, send messages (`tell`), approve, reject, land, cancel and open pull requests (`requestPull`).',
    ],
    HOST_FILE,
  ),
});
