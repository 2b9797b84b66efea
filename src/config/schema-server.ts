import { z } from 'zod';
import { key } from './key-facts.ts';
import { HostPort } from './schema/values.ts';

/** `[server]`: what requests over the HTTP API may do that they may not by themselves. */
export const ServerTable = z.strictObject({
  private: key(z.array(HostPort, { error: 'must be a list like ["git.example.com:443"]' }), [
    'list of host:port',
    [],
    'Servers of repositories that requests may name although their addresses are [not public](network.md#addresses). Only in `<HALO_HOME>/config.toml`.',
  ]),
  options: key(z.array(z.string(), { error: 'must be a list of keys like ["limits.wall"]' }), [
    'list of keys',
    [],
    'Keys of `[limits]`, `approval`, `tests` and `land`, or `image`, that a request may set as it likes. Only in `<HALO_HOME>/config.toml`.',
  ]),
});
