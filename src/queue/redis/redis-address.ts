import type { RedisOptions } from 'ioredis';
import { HaloError } from '../../core/failure/errors.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';
import { tryDecodeComponent } from '../../core/text/address-credentials.ts';

/** The address of a Redis server: client options, and a name for users without secrets. */
export interface RedisAddress {
  options: RedisOptions;
  name: string;
}

const HINT =
  'Set it to redis://host:6379, redis://:password@host:6379/0, rediss://host:6379 or unix:///path/redis.sock.';

/** Parses HALO_REDIS_URL. Throws REDIS_UNAVAILABLE when it is not a Redis address. */
export function parseRedisUrl(text: string): RedisAddress {
  const [, user = '', password = '', socket] = /^(?:unix:\/\/(?:([^:@/]*):([^@/]*)@)?)?(\/.*)$/.exec(text) ?? [];
  if (socket !== undefined) {
    const { options, name } = socketAddress(tryDecodeComponent(socket));
    return { options: { ...options, ...credentialsOf(user, password) }, name };
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new HaloError('REDIS_UNAVAILABLE', 'HALO_REDIS_URL is not a URL.', { hint: HINT, cause: error });
  }
  const db = url.pathname.replace(/^\//, '');
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || !/^\d{0,5}$/.test(db))
    throw new HaloError('REDIS_UNAVAILABLE', `HALO_REDIS_URL (${url.protocol}//…) is not a Redis address.`, {
      hint: HINT,
    });
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? 6379 : Number(url.port);
  const tls = url.protocol === 'rediss:' ? { tls: { servername: host } } : {};
  return {
    options: { host, port, db: Number(db), ...credentialsOf(url.username, url.password), ...tls },
    name: `${url.protocol}//${url.hostname}:${port}/${db === '' ? 0 : db}`,
  };
}

/** Whether the password crosses the network without encryption. */
export function sendsReadablePassword({ options }: RedisAddress): boolean {
  const { password, tls, host } = options;
  if (password === undefined || tls !== undefined || host === undefined) return false;
  return !isConfidential(new URL(`http://${host.includes(':') ? `[${host}]` : host}`));
}

function credentialsOf(user: string, password: string): { username?: string; password?: string } {
  return {
    ...(user === '' ? {} : { username: tryDecodeComponent(user) }),
    ...(password === '' ? {} : { password: tryDecodeComponent(password) }),
  };
}

export function socketAddress(path: string): RedisAddress {
  return { options: { path }, name: `unix://${path}` };
}
