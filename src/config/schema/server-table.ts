import { z } from 'zod';
import { key } from './key-metadata.ts';
import { HOST_FILE } from '../trust/key-trust.ts';
import { HostPort, Text, wholeNumber } from './values.ts';

/** `[server]`: additional permissions of requests over the HTTP API. */
export const ServerTable = z.strictObject({
  private: key(
    z.array(HostPort, { error: 'must be a list like ["git.example.com:443"]' }),
    [
      'list of host:port',
      [],
      'Repository servers that requests may use even though their addresses are [not public](network.md#addresses). Only in `<HALO_HOME>/config.toml`.',
    ],
    HOST_FILE,
  ),
  options: key(
    z.array(z.string(), { error: 'must be a list of keys like ["limits.wall"]' }),
    [
      'list of keys',
      [],
      'Keys of `[limits]`, `approval`, `tests` and `land`, or `image`, that a request may set freely. Only in `<HALO_HOME>/config.toml`.',
    ],
    HOST_FILE,
  ),
  requests_per_minute: key(
    wholeNumber(0, 1_000_000),
    [
      'whole number',
      1200,
      'How many requests the server answers for one token in a minute; 0: no limit. The token of the server has none. Only in `<HALO_HOME>/config.toml`.',
    ],
    HOST_FILE,
  ),
  tls_certificate: key(
    Text.optional(),
    [
      'path',
      undefined,
      'PEM file of the certificate with which the server serves [HTTPS](fleet.md#tls), with its chain. Only in `<HALO_HOME>/config.toml`.',
    ],
    HOST_FILE,
  ),
  tls_key: key(
    Text.optional(),
    ['path', undefined, 'PEM file of the private key of that certificate. Only in `<HALO_HOME>/config.toml`.'],
    HOST_FILE,
  ),
});
