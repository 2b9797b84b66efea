import { mkdir, stat, statfs } from 'node:fs/promises';
import { processEnv, readSecret } from '../../config/environment/host.ts';
import type { Host } from '../../config/config.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/safe-text.ts';
import { shellQuote } from '../../lib/shell-quote.ts';
import { checkRedis } from '../../queue/redis/redis-health.ts';
import { readSetAside } from '../../queue/damaged-data.ts';
import { describeDeadLetters, readDeadLetters } from '../../queue/dead-letters.ts';
import type { RedisLink } from '../../queue/redis/connect-redis.ts';
import { findRedis } from '../../worker/find-redis.ts';
import { openBreakers } from '../../store/breaker-files.ts';
import { openDocker } from '../../sandbox/docker/engine.ts';
import { sandboxImageStatus } from '../../sandbox/docker/image/image.ts';
import { tooOld } from '../../sandbox/engine-age.ts';
import { probeAgent } from '../../sandbox/probe-agent.ts';
import type { EngineFacts, SandboxEngine } from '../../sandbox/sandbox.ts';
import { checkGit } from '../check-git.ts';
import { checkSandbox } from './check-sandbox.ts';
import type { Finding } from '../finding.ts';

type Check = () => Promise<Finding | Finding[]>;

/** Checks everything that a run on this machine needs; a check that cannot be made is a finding, too. */
export async function diagnose(host: Host): Promise<Finding[]> {
  const engine = openDocker();
  const checks: [name: string, check: Check][] = [
    ['node', () => Promise.resolve(checkNode())],
    ['git', checkGit],
    ['docker', () => checkDocker(engine)],
    ['image', checkImage],
    ['sandbox', () => checkSandbox(engine, host.home)],
    ['agent', () => checkAgent(engine)],
    ['redis', () => checkQueue(host)],
    ['model key', () => Promise.resolve(checkKey())],
    ['home', () => checkHome(host.home)],
    ['disk', () => checkDisk(host.home)],
    ['breakers', () => checkBreakers(host)],
  ];
  const findings: Finding[] = [];
  for (const [name, check] of checks) findings.push(...(await settle(name, check)));
  return foldSame(findings);
}

/** One fault that stops several checks, such as an engine that does not answer, is told once. */
export function foldSame(findings: readonly Finding[]): Finding[] {
  const first = new Map<string, Finding>();
  for (const finding of findings) {
    const key = finding.ok === 'fail' ? `${finding.says}\n${finding.mend ?? ''}` : JSON.stringify(finding);
    const before = first.get(key);
    if (before === undefined) first.set(key, { ...finding });
    else if (finding.ok === 'fail' && !before.name.split(', ').includes(finding.name))
      before.name += `, ${finding.name}`;
  }
  return [...first.values()];
}

async function settle(name: string, check: Check): Promise<Finding[]> {
  try {
    return [await check()].flat();
  } catch (error) {
    const { message, hint } = toHaloError(error);
    return [{ name, ok: 'fail', says: message, ...(hint === undefined ? {} : { mend: hint }) }];
  }
}

const OLDEST_NODE = 20;

function checkNode(): Finding {
  const major = Number(process.versions.node.split('.')[0]);
  const says = process.version;
  if (major >= OLDEST_NODE) return { name: 'node', ok: 'ok', says };
  return { name: 'node', ok: 'fail', says, mend: `halo needs Node ${OLDEST_NODE} or newer` };
}

async function checkDocker(engine: SandboxEngine): Promise<Finding[]> {
  const facts = await engine.facts();
  const { version, apiVersion, cgroupVersion, storageDriver, warnings } = facts;
  const mend = tooOld(facts);
  const finding: Finding = {
    name: 'docker',
    ok: mend === undefined ? 'ok' : 'fail',
    says: `engine ${version}, API ${apiVersion}, cgroup v${cgroupVersion}, ${storageDriver}`,
    ...(mend === undefined ? {} : { mend }),
  };
  // Swap accounting does not matter without swap; what the limits really do is probed below.
  const grave = warnings.filter((warning) => /No (memory|pids|cpu cfs) limit/i.test(warning));
  return [finding, ...grave.map((says): Finding => ({ name: 'docker', ok: 'warn', says })), ...judgeOpenFiles(facts)];
}

/** An engine needs some for each container, and one for each level of folders in what it removes. */
const FEWEST_OPEN_FILES = 16_384;

/** A warning when the engine may open so few files that many containers, or deep folders, use them up. */
export function judgeOpenFiles({ openFiles = Infinity }: Pick<EngineFacts, 'openFiles'>): Finding[] {
  if (openFiles >= FEWEST_OPEN_FILES) return [];
  const says = `the engine may have only ${openFiles} files open at a time: containers fail when they are used up`;
  const mend = 'raise its limit of open files: LimitNOFILE=1048576 in its systemd unit, or `ulimit -n` where it starts';
  return [{ name: 'docker', ok: 'warn', says, mend }];
}

async function checkImage(): Promise<Finding> {
  const status = await sandboxImageStatus();
  const mend = 'halo image build';
  switch (status) {
    case 'current':
      return { name: 'image', ok: 'ok', says: 'halo-sandbox is up to date' };
    case 'outdated':
      return { name: 'image', ok: 'warn', says: 'halo-sandbox was built by another version of halo', mend };
    case 'missing':
      return { name: 'image', ok: 'fail', says: 'halo-sandbox is not there', mend };
  }
}

async function checkAgent(engine: SandboxEngine): Promise<Finding> {
  return { name: 'agent', ok: 'ok', says: `${await probeAgent(engine)} in halo-sandbox` };
}

/** The queue's server, and what is in the queue that is none of halo's. Throws REDIS_UNAVAILABLE. */
export async function checkQueue(host: Host): Promise<Finding[]> {
  const link = await findRedis(host);
  try {
    const findings = (await checkRedis(link)).map(({ level, what, hint }): Finding => ({
      name: 'redis',
      ok: level === 'bad' ? 'fail' : 'warn',
      says: what,
      mend: hint,
    }));
    const well: Finding = { name: 'redis', ok: 'ok', says: `${link.describe()}; keeps its data, evicts nothing` };
    const standing = findings.length === 0 ? [well] : findings;
    return [...standing, ...(await checkSetAside(host)), ...(await checkDeadLetters(link))];
  } finally {
    await link.close();
  }
}

/** Data that halo's own server could not start with. */
async function checkSetAside({ home }: Host): Promise<Finding[]> {
  const found = await readSetAside(home);
  if (found === undefined) return [];
  const says = `its data was damaged and set aside in ${found.folder}, and the queue was made anew from the journals`;
  return [{ name: 'redis', ok: 'warn', says, mend: 'delete that folder when nobody wants to look into it' }];
}

/** Jobs that somebody else put into the queue, or that belong to runs which are gone. */
async function checkDeadLetters(link: RedisLink): Promise<Finding[]> {
  const letters = await readDeadLetters(link);
  const [newest] = letters;
  if (newest === undefined) return [];
  const { look, clear } = describeDeadLetters(link.prefix);
  const count = letters.length === 1 ? 'a job in the queue was' : `${letters.length} jobs in the queue were`;
  return [
    {
      name: 'redis',
      ok: 'warn',
      says: `${count} none of halo’s and not done; the last one at ${safeLine(newest.at, 30)}: ${safeLine(newest.reason, 200)}`,
      mend: `find out who else writes to ${link.address.name}; in redis-cli, \`${look}\` shows them and \`${clear}\` clears them`,
    },
  ];
}

function checkKey(): Finding {
  const name = 'OPENAI_API_KEY';
  if (readSecret(processEnv(), name) !== undefined) return { name: 'model key', ok: 'ok', says: `${name} is set` };
  return {
    name: 'model key',
    ok: 'warn',
    says: `${name} is not set`,
    mend: 'set it where the worker starts; replaying cassettes and the command agent need none',
  };
}

async function checkBreakers({ home }: Host): Promise<Finding[]> {
  const open = await openBreakers(home).list();
  if (open.length === 0) return [{ name: 'breakers', ok: 'ok', says: 'none is open' }];
  return open.map(({ key, status, reason }): Finding => ({
    name: 'breakers',
    ok: 'warn',
    says: `${key} is ${status}: ${reason ?? ''}`,
    mend: `mend the cause, then: halo breaker reset ${key}`,
  }));
}

/** Whether the folder of halo's files is this user's alone: runs, sockets and logs are in it. */
export async function checkHome(home: string): Promise<Finding> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const { uid, mode } = await stat(home);
  const finding = { name: 'home', ok: 'warn' } as const;
  if (uid !== process.getuid?.())
    return { ...finding, says: `${home} belongs to another user`, mend: 'set HALO_HOME to a folder of your own' };
  const open = mode & 0o077;
  if (open === 0) return { name: 'home', ok: 'ok', says: `${home} is closed to other users` };
  const says = `${home} is open to other users of this machine (mode ${(mode & 0o777).toString(8)})`;
  return { ...finding, says, mend: `chmod 700 ${shellQuote(home)}` };
}

const GIB = 1024 ** 3;

async function checkDisk(home: string): Promise<Finding> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(home);
  const free = (bavail * bsize) / GIB;
  const says = `${free.toFixed(1)} GiB free at ${home}`;
  if (free >= 5) return { name: 'disk', ok: 'ok', says };
  const mend = 'free some space: `docker system df` and old folders in runs/ are where to look';
  return { name: 'disk', ok: free >= 1 ? 'warn' : 'fail', says, mend };
}
