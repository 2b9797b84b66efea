import type { RedisLink } from './connect-redis.ts';

/** Something about the server that halo's queue cannot live with (`bad`) or should not (`warn`). */
export interface RedisFinding {
  level: 'bad' | 'warn';
  what: string;
  /** How to mend it, one sentence. */
  hint: string;
}

const OLDEST = [6, 2] as const;

/** Whether the server keeps what it is given: version, eviction, persistence. No findings means all is well. */
export async function checkRedis(link: Pick<RedisLink, 'client'>): Promise<RedisFinding[]> {
  const info = parseInfo(await link.client.info());
  const findings: RedisFinding[] = [];
  const version = info.get('redis_version') ?? '0';
  if (isOlder(version))
    findings.push({
      level: 'bad',
      what: `Redis ${version} is older than ${OLDEST.join('.')}.`,
      hint: 'Install a newer Redis or Valkey.',
    });
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction')
    findings.push({
      level: 'bad',
      what: `Redis may drop jobs when its memory is full: maxmemory-policy is ${policy}.`,
      hint: 'Set it in redis.conf, or now: redis-cli config set maxmemory-policy noeviction.',
    });
  if (info.get('aof_enabled') === '0')
    findings.push({
      level: 'warn',
      what: 'Redis forgets the queue when it restarts: its append-only file is off.',
      hint: 'Set it in redis.conf, or now: redis-cli config set appendonly yes.',
    });
  return findings;
}

function parseInfo(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}
