import type { RedisOptions } from 'ioredis';
import { HaloError } from '../../core/failure/errors.ts';

/** Where a Redis server is: what a client needs, and its name for people, without secrets. */
export interface RedisAddress {
  options: RedisOptions;
  name: string;
}

const FORMS =
  'It looks like redis://host:6379, redis://:password@host:6379/0, rediss://host:6379 or unix:///path/redis.sock.';

/** Reads HALO_REDIS_URL. Throws REDIS_UNAVAILABLE when it is no address of a Redis server. */
export function parseRedisUrl(text: string): RedisAddress {
  const [, user = '', word = '', socket] = /^(?:unix:\/\/(?:([^:@/]*):([^@/]*)@)?)?(\/.*)$/.exec(text) ?? [];
  if (socket !== undefined) {
    const { options, name } = socketAddress(decodeURIComponent(socket));
    return { options: { ...options, ...loginOf(user, word) }, name };
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new HaloError('REDIS_UNAVAILABLE', 'HALO_REDIS_URL is not an address.', { hint: FORMS, cause: error });
  }
  const db = url.pathname.replace(/^\//, '');
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || !/^\d{0,5}$/.test(db))
    throw new HaloError('REDIS_UNAVAILABLE', `HALO_REDIS_URL (${url.protocol}//…) is not an address of Redis.`, {
      hint: FORMS,
    });
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? 6379 : Number(url.port);
  const tls = url.protocol === 'rediss:' ? { tls: { servername: host } } : {};
  return {
    options: { host, port, db: Number(db), ...loginOf(url.username, url.password), ...tls },
    name: `${url.protocol}//${url.hostname}:${port}/${db === '' ? 0 : db}`,
  };
}

function loginOf(user: string, password: string): { username?: string; password?: string } {
  return {
    ...(user === '' ? {} : { username: decodeURIComponent(user) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

export function socketAddress(path: string): RedisAddress {
  return { options: { path }, name: `unix://${path}` };
}
