import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { parseFailpoints, type ArmedFault } from '../../core/failure/failpoint-names.ts';
import { tryDecodeComponent } from '../../core/text/address-credentials.ts';
import { parseDuration } from '../../lib/units.ts';
import type { ProxySettings } from '../../lib/network/connections.ts';
import type { Host } from '../config.ts';

export type Env = Record<string, string | undefined>;

/** The environment of this process. All other code takes it as a parameter. */
export function processEnv(): Env {
  return process.env;
}

/** Reads the settings of this machine and process. Empty variables count as unset. Throws CONFIG_INVALID. */
export function readHost(env: Env): Host {
  const home = readSecret(env, 'HALO_HOME');
  return {
    home: home === undefined ? join(homedir(), '.halo') : resolve(home),
    redisUrl: readUrl(env, 'HALO_REDIS_URL', ['redis:', 'rediss:', 'unix:']),
    apiUrl: readUrl(env, 'HALO_URL', ['http:', 'https:']),
    apiToken: readSecret(env, 'HALO_TOKEN'),
    takeoverMs: readTakeover(env),
  };
}

/** Reads the faults to inject into this process, for reliability tests; usually none. Throws CONFIG_INVALID. */
export function readFailpoints(env: Env): ArmedFault[] {
  const text = readSecret(env, 'HALO_FAILPOINT');
  return text === undefined ? [] : parseFailpoints(text);
}

/** With a shorter time, a live worker on a busy machine would be considered dead. */
const MIN_TAKEOVER_MS = 2000;

function readTakeover(env: Env): number | undefined {
  const text = readSecret(env, 'HALO_TAKEOVER');
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= MIN_TAKEOVER_MS) return ms;
  throw new HaloError('CONFIG_INVALID', `HALO_TAKEOVER=${text} is not a duration of at least 2s.`, {
    hint: 'Set it to a duration like 30s or 1m, the same for all workers, or unset it.',
  });
}

/** Returns the value of a variable that may be secret; undefined if it is unset or empty. Never log it. */
export function readSecret(env: Env, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === '' ? undefined : value;
}

/**
 * Reads the proxies of this machine: `https_proxy`, `http_proxy` and `no_proxy`, or the same in capitals. A proxy without a
 * scheme is one of `http://`. Throws CONFIG_INVALID.
 */
export function readProxies(env: Env): ProxySettings {
  const read = (name: string) => readSecret(env, name) ?? readSecret(env, name.toUpperCase());
  const proxy = (name: string) => {
    const text = read(name);
    if (text === undefined) return undefined;
    const full = text.includes('://') ? text : `http://${text}`;
    const url = URL.canParse(full) ? withPercentSigns(new URL(full)) : undefined;
    if (url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== '') return url;
    throw new HaloError('CONFIG_INVALID', `${name.toUpperCase()} is not a URL of the form http://… or https://….`, {
      hint: `Set ${name.toUpperCase()} to the address of an HTTP proxy, or unset it.`,
    });
  };
  return {
    http: proxy('http_proxy'),
    https: proxy('https_proxy'),
    direct: (read('no_proxy') ?? '').split(/[\s,]+/).filter((entry) => entry !== ''),
  };
}

/** Encodes the percent signs of a user name or password that is not percent-encoded, so that it can be decoded. */
function withPercentSigns(url: URL): URL {
  for (const part of ['username', 'password'] as const)
    if (tryDecodeComponent(url[part]) === url[part]) url[part] = url[part].replaceAll('%', '%25');
  return url;
}

/** Secrets of the proxies: their passwords, plain and as it is sent. */
export function proxySecrets(env: Env): string[] {
  const { http, https } = readProxies(env);
  return [http, https].flatMap((url) => {
    if (url === undefined || url.password === '') return [];
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    return [password ?? '', Buffer.from(`${user}:${password}`).toString('base64')];
  });
}

/** The error message does not repeat the value: URLs may contain a password. */
function readUrl(env: Env, name: string, protocols: string[]): string | undefined {
  const text = readSecret(env, name);
  if (text === undefined) return undefined;
  if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return text;
  const forms = protocols.map((protocol) => `${protocol}//…`).join(' or ');
  throw new HaloError('CONFIG_INVALID', `${name} is not a URL of the form ${forms}.`, {
    hint: `Set ${name} to such a URL, or unset it.`,
  });
}
