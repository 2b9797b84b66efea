import { stat, statfs } from 'node:fs/promises';
import type { Config, Host } from '../../config/config.ts';
import { readMachineConfig } from '../../config/host-rules.ts';
import { processEnv } from '../../config/environment/host.ts';
import { isProgramId, programCommand } from '../../core/agent-program.ts';
import { localEngine } from '../../core/engine/engine-address.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { describeBusyHost, type HostLoad } from '../../core/host-load.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { memoizeAsync } from '../../lib/async.ts';
import { createFolders } from '../../lib/fs.ts';
import { defined } from '../../lib/guards.ts';
import { readHostLoad } from '../../lib/host-load.ts';
import { shellQuote } from '../../lib/text.ts';
import { readDamagedRedisData } from '../../queue/damaged-data.ts';
import { deadLetterCommands, readDeadLetters } from '../../queue/dead-letters.ts';
import type { RedisLink } from '../../queue/redis/connect-redis.ts';
import { findRedisProblems } from '../../queue/redis/redis-health.ts';
import { findUpgradeHint } from '../../sandbox/docker/engine-info.ts';
import { openDockerEngine } from '../../sandbox/docker/engine.ts';
import { sandboxImageStatus } from '../../sandbox/docker/image/image.ts';
import { readAgentVersion } from '../../sandbox/probe-agent.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';
import { openBreakerStore } from '../../store/breaker-files.ts';
import { readConfig } from '../repository/repo-config.ts';
import { agentAdapter } from '../../agents/registry.ts';
import { mountVersion } from '../../worker/workspace/agent-mount.ts';
import { connectHostRedis } from '../../worker/recovery/find-redis.ts';
import { checkForges, checkGit, checkKeys, checkSandbox, checkSnapshots } from './checks.ts';
import { checkEngines } from '../../features/engines/api/check-engines.ts';
import { checkEndpoints } from '../../features/notifications/api/check-endpoints.ts';
import { checkCache, checkRetention } from '../../features/retention/api/checks.ts';
import { checkVersions } from '../../features/versions/api/check-versions.ts';
import { checkReports } from '../../features/issues/api/check-reports.ts';
import { foldSame, type Finding } from './doctor-finding.ts';

type DoctorCheck = () => Promise<Finding | Finding[]>;

interface DiagnoseOptions {
  /** Agent and keys are those of its repository, if it is in one; default: those of the machine. */
  folder?: string;
  /** The names of checks to leave out. */
  skipped?: readonly string[];
}

/** Checks everything that a run on this machine needs. A check that fails to run is also a finding. */
export async function diagnose(host: Host, { folder, skipped = [] }: DiagnoseOptions = {}): Promise<Finding[]> {
  let known: Promise<Config> | undefined;
  const configOf = () => (known ??= readSettings(host, folder));
  const engine = openDockerEngine(localEngine, { isHere: () => isHere(undefined) });
  const isHere = memoizeAsync(() => engine.canMount(host.home));
  const checks: { name: string; check: DoctorCheck }[] = [
    { name: 'node', check: () => Promise.resolve(checkNode()) },
    { name: 'git', check: checkGit },
    { name: 'docker', check: () => checkDocker(engine) },
    { name: 'load', check: () => Promise.resolve(judgeLoad(readHostLoad())) },
    { name: 'image', check: checkImage },
    { name: 'sandbox', check: () => checkSandbox(engine, host.home) },
    { name: 'engines', check: () => checkEngines(host.home) },
    { name: 'agent', check: async () => checkAgents(engine, await configOf()) },
    { name: 'versions', check: async () => checkVersions(engine, await configOf()) },
    { name: 'redis', check: () => checkQueue(host) },
    { name: 'model key', check: async () => checkKeys(await configOf(), processEnv()) },
    { name: 'forge', check: () => checkForges(host.home, processEnv()) },
    { name: 'reports', check: () => checkReports(host.home, processEnv()) },
    { name: 'notify', check: () => checkEndpoints(host.home) },
    { name: 'home', check: () => checkHome(host.home) },
    { name: 'disk', check: () => checkDisk(host.home) },
    { name: 'snapshots', check: () => checkSnapshots(engine, host.home) },
    { name: 'cache', check: () => checkCache(host.home) },
    { name: 'retention', check: () => checkRetention(host.home) },
    { name: 'breakers', check: () => checkBreakers(host) },
  ];
  const findings: Finding[] = [];
  const chosen = checks.filter(({ name }) => !skipped.includes(name));
  for (const { name, check } of chosen) findings.push(...(await settle(name, check)));
  return foldSame(findings);
}

async function settle(name: string, check: DoctorCheck): Promise<Finding[]> {
  try {
    return [await check()].flat();
  } catch (error) {
    const { message, hint } = toHaloError(error);
    return [{ name, ok: 'fail', says: message, ...defined({ fix: hint }) }];
  }
}

/** Nothing is said about a machine that is not busy. */
export function judgeLoad(host: HostLoad): Finding[] {
  const busy = describeBusyHost(host);
  const fix = 'run fewer stories in parallel, or see docs/performance.md, "A busy host"';
  return busy === undefined ? [] : [{ name: 'load', ok: 'warn', says: busy, fix }];
}

const MIN_NODE = 20;

function checkNode(): Finding {
  const major = Number(process.versions.node.split('.')[0]);
  const says = process.version;
  if (major >= MIN_NODE) return { name: 'node', ok: 'ok', says };
  return { name: 'node', ok: 'fail', says, fix: `install Node ${MIN_NODE} or newer` };
}

async function checkDocker(engine: SandboxEngine): Promise<Finding[]> {
  const facts = await engine.info();
  const { version, apiVersion, cgroupVersion, storageDriver, warnings } = facts;
  const fix = findUpgradeHint(facts);
  const finding: Finding = {
    name: 'docker',
    ok: fix === undefined ? 'ok' : 'fail',
    says: `engine ${version}, API ${apiVersion}, cgroup v${cgroupVersion}, ${storageDriver}`,
    ...defined({ fix }),
  };
  // Swap accounting does not matter without swap. The effect of limits is probed in a sandbox.
  const grave = warnings.filter((warning) => /No (memory|pids|cpu cfs) limit/i.test(warning));
  return [finding, ...grave.map((says): Finding => ({ name: 'docker', ok: 'warn', says }))];
}

/** Without a folder, what config.toml and the variables of this machine say. */
async function readSettings(host: Host, folder: string | undefined): Promise<Config> {
  if (folder === undefined) return readMachineConfig({ home: host.home, env: processEnv() });
  return (await readConfig({ host, folder, profile: undefined, set: [] })).config;
}

async function checkImage(): Promise<Finding> {
  const status = await sandboxImageStatus();
  const fix = 'halo image build';
  switch (status) {
    case 'current':
      return { name: 'image', ok: 'ok', says: 'halo-sandbox is up to date' };
    case 'outdated':
      return { name: 'image', ok: 'warn', says: 'halo-sandbox was built by another version of halo', fix };
    case 'missing':
      return { name: 'image', ok: 'fail', says: 'halo-sandbox does not exist', fix };
  }
}

/** The agent of the run, and those that routes and `fallback` may choose instead. */
async function checkAgents(engine: SandboxEngine, { agent, otherAgents, agentVersions }: Config): Promise<Finding[]> {
  const agents = [agent, ...Object.keys(otherAgents)];
  return Promise.all(agents.map((each) => checkAgent(engine, { agent: each, agentVersions })));
}

async function checkAgent(
  engine: SandboxEngine,
  { agent, agentVersions }: Pick<Config, 'agent' | 'agentVersions'>,
): Promise<Finding> {
  const { title } = agentAdapter(agent);
  if (!isProgramId(agent))
    return { name: 'agent', ok: 'ok', says: `${title}, which is started as [agents.${agent}] says; not tried here` };
  const chosen = agentVersions[agent];
  const versionCommand = `${programCommand(agent, chosen)} --version`;
  const version = await readAgentVersion(engine, {
    title,
    versionCommand,
    mounts: mountVersion({ agent, agentVersions }),
  });
  const origin = chosen === undefined ? 'in halo-sandbox' : `of agents.${agent}.version`;
  return { name: 'agent', ok: 'ok', says: `${version} ${origin}` };
}

/** Checks the Redis server, and the queue for foreign jobs. Throws REDIS_UNAVAILABLE. */
export async function checkQueue(host: Host): Promise<Finding[]> {
  const link = await connectHostRedis(host);
  try {
    const findings = (await findRedisProblems(link)).map(({ level, what, hint }): Finding => ({
      name: 'redis',
      ok: level === 'bad' ? 'fail' : 'warn',
      says: what,
      fix: hint,
    }));
    const well: Finding = { name: 'redis', ok: 'ok', says: `${link.describe()}; keeps its data, evicts nothing` };
    const standing = findings.length === 0 ? [well] : findings;
    return [...standing, ...(await checkSetAside(host)), ...(await checkDeadLetters(link))];
  } finally {
    await link.close();
  }
}

/** Reports damaged data of halo's Redis server that was set aside. */
async function checkSetAside({ home }: Host): Promise<Finding[]> {
  const found = await readDamagedRedisData(home);
  if (found === undefined) return [];
  const says = `its data was damaged and set aside in ${found.folder}, and the queue was rebuilt from the journals`;
  return [{ name: 'redis', ok: 'warn', says, fix: 'delete that folder when it is no longer needed' }];
}

/** Reports jobs of other programs in the queue, and jobs of runs that no longer exist. */
async function checkDeadLetters(link: RedisLink): Promise<Finding[]> {
  const letters = await readDeadLetters(link);
  const [newest] = letters;
  if (newest === undefined) return [];
  const { look, clear } = deadLetterCommands(link.prefix);
  const count = letters.length === 1 ? 'a job in the queue was' : `${letters.length} jobs in the queue were`;
  return [
    {
      name: 'redis',
      ok: 'warn',
      says: `${count} not created by halo and not executed; the last one at ${safeLine(newest.at, 30)}: ${safeLine(newest.reason, 200)}`,
      fix: `find out which other program writes to ${link.address.name}; in redis-cli, run \`${look}\` to list them and \`${clear}\` to delete them`,
    },
  ];
}

async function checkBreakers({ home }: Host): Promise<Finding[]> {
  const open = await openBreakerStore(home).list();
  if (open.length === 0) return [{ name: 'breakers', ok: 'ok', says: 'none is open' }];
  return open.map(({ key, status, reason }): Finding => ({
    name: 'breakers',
    ok: 'warn',
    says: `${key} is ${status}: ${reason ?? ''}`,
    fix: `fix the cause, then run: halo breaker reset ${key}`,
  }));
}

/** Checks that only this user can access HALO_HOME, which has runs, sockets and logs. */
export async function checkHome(home: string): Promise<Finding> {
  await createFolders(home, 0o700);
  const { uid, mode } = await stat(home);
  const finding = { name: 'home', ok: 'warn' } as const;
  if (uid !== process.getuid?.())
    return { ...finding, says: `${home} belongs to another user`, fix: 'set HALO_HOME to a folder of your own' };
  const open = mode & 0o077;
  if (open === 0) return { name: 'home', ok: 'ok', says: `${home} is closed to other users` };
  const says = `${home} is open to other users of this machine (mode ${(mode & 0o777).toString(8)})`;
  return { ...finding, says, fix: `chmod 700 ${shellQuote(home)}` };
}

const GIB = 1024 ** 3;

async function checkDisk(home: string): Promise<Finding> {
  await createFolders(home, 0o700);
  const { bavail, bsize } = await statfs(home);
  const free = (bavail * bsize) / GIB;
  const says = `${free.toFixed(1)} GiB free at ${home}`;
  if (free >= 5) return { name: 'disk', ok: 'ok', says };
  const fix = 'free some space: check `docker system df`, `halo snapshot ls` and `halo prune --dry-run`';
  return { name: 'disk', ok: free >= 1 ? 'warn' : 'fail', says, fix };
}

/** Findings, and when they were made. */
interface Diagnosis {
  /** ISO 8601 */
  at: string;
  findings: Finding[];
  /** The names of the checks that did not run. */
  skipped: string[];
}

const MAX_AGE_MS = 60_000;
/** These checks start containers, or measure an engine for long. */
const COSTLY = ['sandbox', 'engines', 'agent', 'versions', 'snapshots'];

/** By HALO_HOME. */
const latest = new Map<string, { until: number; diagnosis: Promise<Diagnosis> }>();

/** Runs the checks that start no container. Requests within a minute share one result. */
export async function diagnoseCheaply(host: Host): Promise<Diagnosis> {
  const known = latest.get(host.home);
  if (known !== undefined && performance.now() < known.until) return known.diagnosis;
  const at = new Date().toISOString();
  const diagnosis = diagnose(host, { skipped: COSTLY }).then((findings) => ({ at, findings, skipped: COSTLY }));
  latest.set(host.home, { until: performance.now() + MAX_AGE_MS, diagnosis });
  return diagnosis;
}
