import { access, constants, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, KeySource } from '../../config/config.ts';
import { readSecret, type Env } from '../../config/environment/host.ts';
import { readHostFile } from '../../config/host-rules.ts';
import { resetCommand } from '../../core/failure/breaker.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { FORGES, type ForgeName } from '../../core/forge-name.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { checkToken, type ForgeAddress } from '../../forge/open-forge.ts';
import { gitText } from '../../git/process/git.ts';
import { defined } from '../../lib/guards.ts';
import { openMasker } from '../../lib/secrets/masker.ts';
import { formatSize } from '../../lib/units.ts';
import { isOlderVersion } from '../../lib/version.ts';
import { runIsolationScript } from '../../sandbox/isolation-check/check-isolation.ts';
import { probeCachePath } from '../../sandbox/probe-cache.ts';
import type { DiskLimitMethod, EngineInfo, SandboxEngine } from '../../sandbox/sandbox.ts';
import { openBreakerStore } from '../../store/breaker-files.ts';
import { SnapshotFiles } from '../../store/snapshot-files.ts';
import { readIssueSettings } from '../../worker/network/forges.ts';
import { openMachineConnections } from '../../worker/network/machine-connections.ts';
import type { Finding } from './doctor-finding.ts';

/** The first version that merges trees without a checkout. */
const MERGES = '2.38';

/** Checks that git can merge stories that ran in parallel. Throws GIT_FAILED. */
export async function checkGit(): Promise<Finding> {
  const says = (await gitText(['version'])).replace('git version ', '');
  if (!isOlderVersion(says, MERGES)) return { name: 'git', ok: 'ok', says };
  return {
    name: 'git',
    ok: 'warn',
    says: `${says} cannot merge parallel stories of a run`,
    fix: `install git ${MERGES} or newer, or leave run.parallel at 1`,
  };
}

/** The oldest release that still gets fixes. */
const MIN_MAINTAINED_ENGINE = '25.0';

/**
 * Checks the isolation of the engine in a test sandbox, also with runsc if it is installed. `home` is the HALO_HOME from
 * which sandboxes reach their gateways. Clears its cached results of such checks, so that the next worker repeats them too.
 */
export async function checkSandbox(engine: SandboxEngine, home: string): Promise<Finding[]> {
  await rm(probeCachePath(home), { force: true });
  const facts = await engine.info();
  const runtimes = [undefined, ...facts.runtimes.filter((name) => name === 'runsc')];
  const proven = await Promise.all(runtimes.map((runtime) => checkRuntime(engine, runtime)));
  const rung = describeRung(await engine.diskLimitMethod());
  return [...proven.flat(), rung, await checkChannel(engine, home), ...checkAge(facts), ...(await checkPlace(engine))];
}

async function checkRuntime(engine: SandboxEngine, runtime: string | undefined): Promise<Finding[]> {
  const facts = await runIsolationScript(engine, runtime);
  if (runtime === undefined) return facts.map((fact): Finding => ({ ...fact, name: `sandbox: ${fact.name}` }));
  const broken = facts.filter(({ ok }) => ok === 'fail');
  if (broken.length === 0) return [{ name: `runtime ${runtime}`, ok: 'ok', says: 'passes, and is used' }];
  const says = `does not pass, and is not used: ${broken.map((fact) => `${fact.name}: ${fact.says}`).join('; ')}`;
  return [{ name: `runtime ${runtime}`, ok: 'warn', says }];
}

/** Reported although halo works: over stdio, everything takes a little longer. */
async function checkChannel(engine: SandboxEngine, home: string): Promise<Finding> {
  const name = 'sandbox: channel';
  const { socket, pipe } = await engine.canReach(join(home, 'sockets'), undefined);
  if (socket) {
    const output = pipe ? 'their output through a mounted pipe' : 'their output through the engine';
    return { name, ok: 'ok', says: `socket: sandboxes reach the gateway through a mounted socket, ${output}` };
  }
  if (await engine.canBridge()) {
    return { name, ok: 'ok', says: 'stdio: sockets cannot be mounted here, so each sandbox has a bridge' };
  }
  const fix =
    'run `halo image build`, then check whether the engine lets halo execute /opt/halo/bin/bridge in a container';
  return { name, ok: 'fail', says: 'sandboxes reach the gateway neither through a socket nor over stdio', fix };
}

function describeRung(rung: DiskLimitMethod): Finding {
  const name = 'sandbox: disk';
  switch (rung) {
    case 'quota':
      return { name, ok: 'ok', says: 'workspaces have quotas of the engine' };
    case 'watch':
      return {
        name,
        ok: 'ok',
        says: 'no quotas; halo watches the free space and stops a sandbox whose workspace grows too large',
      };
    case 'sample':
      return {
        name,
        ok: 'warn',
        says: 'the disk of the engine is not on this machine: workspaces are measured only every 20 s',
        fix: 'give the engine a file system with quotas (xfs, pquota)',
      };
  }
}

/** What this machine's files say about an engine that runs on it. */
async function checkPlace(engine: SandboxEngine): Promise<Finding[]> {
  if (await engine.isHere()) return judgeOpenFiles(await engine.openFiles());
  const says = 'the engine does not run on this machine: its limit of open files and its load are unknown';
  return [{ name: 'docker', ok: 'ok', says }];
}

/** An engine needs open files for each container, and for each level of the folders that it removes. */
const MIN_OPEN_FILES = 16_384;

/** Warns if many containers or deep folders could exceed the engine's limit of open files. */
export function judgeOpenFiles(openFiles = Infinity): Finding[] {
  if (openFiles >= MIN_OPEN_FILES) return [];
  const says = `the engine may have only ${openFiles} files open at a time: containers fail at this limit`;
  const fix =
    'raise its limit of open files with LimitNOFILE=1048576 in its systemd unit, or with `ulimit -n` where it starts';
  return [{ name: 'docker', ok: 'warn', says, fix }];
}

/** Outdated programs on which the isolation of sandboxes depends. */
function checkAge({ version, runc }: EngineInfo): Finding[] {
  const findings: Finding[] = [];
  if (runc !== undefined && isOldRunc(runc)) findings.push(old('runc', runc, '1.2.8, 1.3.3'));
  if (isOlderVersion(version, MIN_MAINTAINED_ENGINE)) findings.push(old('docker', version, MIN_MAINTAINED_ENGINE));
  return findings;
}

/** Fixed in two lines of releases. */
function isOldRunc(version: string): boolean {
  return isOlderVersion(version, '1.2.8') || (!isOlderVersion(version, '1.3') && isOlderVersion(version, '1.3.3'));
}

function old(name: string, version: string, oldest: string): Finding {
  return {
    name,
    ok: 'warn',
    says: `${version} is old: it has known container escapes, unless your distribution has patched it`,
    fix: `update to ${oldest} or newer, or use a dedicated machine for halo`,
  };
}

/**
 * Reports how workspaces begin with snapshots on this engine, how many there are, are being made or failed, and breakers
 * that stop their use. Throws DOCKER_UNAVAILABLE.
 */
export async function checkSnapshots(engine: Pick<SandboxEngine, 'canOverlay'>, home: string): Promise<Finding> {
  const files = new SnapshotFiles(home);
  const stored = (await files.list()).map(({ record }) => record);
  const builds = await files.countBuilds();
  const breakers = (await openBreakerStore(home).list()).filter(({ key }) => key.startsWith('snapshot:'));
  const bytes = stored.reduce((sum, record) => sum + ('bytes' in record ? record.bytes : 0), 0);
  const ready = stored.filter((record) => 'volume' in record).length;
  const refused = stored.length - ready;
  const says = [
    (await engine.canOverlay())
      ? 'workspaces begin with an overlay'
      : 'the engine cannot mount overlay volumes, so each workspace begins with a copy',
    ready === 0 ? 'no snapshots yet' : `${ready} ${ready === 1 ? 'snapshot' : 'snapshots'}, ${formatSize(bytes)}`,
    ...(builds.running === 0 ? [] : [`${builds.running} being made`]),
    ...(builds.interrupted === 0 ? [] : [`${builds.interrupted} interrupted, which the next worker removes`]),
    ...(refused === 0 ? [] : [`${refused} refused, see \`halo snapshot ls\``]),
    ...breakers.map(
      ({ key, reason }) =>
        `not used for ${safeLine(key.slice('snapshot:'.length))}: ${safeLine(reason ?? 'its breaker is open')}`,
    ),
  ].join('; ');
  const [first] = breakers;
  if (first === undefined) return { name: 'snapshots', ok: 'ok', says };
  return { name: 'snapshots', ok: 'warn', says, fix: resetCommand(first.key) };
}

/** Checks that each key of the agents that a run may use is there. Commands may ask the user: they are not run. */
export async function checkKeys(
  { agent, model, otherAgents }: Pick<Config, 'agent' | 'model' | 'otherAgents'>,
  env: Env,
): Promise<Finding[]> {
  const all = Object.entries({ [agent]: { model }, ...otherAgents }).map(([name, of]) => ({
    of: name === agent ? '' : ` of ${name}`,
    sources: of.model.api === undefined && name !== agent ? [] : [of.model, ...of.model.keys],
  }));
  // Agents of one provider have the same keys.
  const named = new Set<string>();
  const found = all.flatMap(({ of, sources }) =>
    sources.flatMap((source, position) => {
      const { keyEnv, keyFile, keyCommand } = source;
      const key = JSON.stringify([keyEnv, keyFile, keyCommand]);
      if (named.has(key)) return [];
      named.add(key);
      return [{ name: `model key${sources.length === 1 ? '' : ` ${position + 1}`}${of}`, source }];
    }),
  );
  return Promise.all(found.map(async ({ name, source }) => ({ name, ...(await checkSource(source, env)) })));
}

const FIX = 'where the worker starts; it is not needed to replay cassettes, or for the agent command';

async function checkSource({ keyEnv, keyFile, keyCommand }: KeySource, env: Env): Promise<Omit<Finding, 'name'>> {
  if (keyCommand !== undefined) return { ok: 'ok', says: 'a command prints it; it was not run' };
  if (keyFile !== undefined) {
    const isReadable = await access(keyFile, constants.R_OK).then(
      () => true,
      () => false,
    );
    if (isReadable) return { ok: 'ok', says: `${keyFile} is readable` };
    return { ok: 'warn', says: `${keyFile} cannot be read`, fix: `make it readable ${FIX}` };
  }
  const variable = keyEnv ?? '';
  if (readSecret(env, variable) !== undefined) return { ok: 'ok', says: `${variable} is set` };
  return { ok: 'warn', says: `${variable} is not set`, fix: `set it ${FIX}` };
}

/** Checks every forge that is configured on this machine: its URL, its token, and what the token may do. Throws CONFIG_INVALID. */
export async function checkForges(home: string, env: Env): Promise<Finding[]> {
  const { forge: forges, config } = await readHostFile(home);
  const configured = FORGES.filter((forge) => Object.values(forges[forge]).some((value) => value !== undefined));
  const { report: withReports } = await readIssueSettings({ home, env });
  if (configured.length === 0) return [];
  const connections = await openMachineConnections(env, config.network.caFile);
  return Promise.all(
    configured.map((forge) => {
      const { url, tokenEnv } = forges[forge];
      const token = tokenEnv === undefined ? undefined : readSecret(env, tokenEnv)?.trim();
      return checkForge(forge, { url, tokenEnv, token, withReports, connections });
    }),
  );
}

async function checkForge(forge: ForgeName, address: ForgeAddress & { withReports: boolean }): Promise<Finding> {
  const name = `forge ${forge}`;
  // The forge may repeat the token in its message.
  const masker = openMasker();
  masker.learn([address.token ?? '']);
  try {
    const { baseUrl, missing } = await checkToken(forge, address);
    const token = `the token in ${address.tokenEnv}`;
    if (missing === undefined) return { name, ok: 'ok', says: `${baseUrl} accepts ${token}` };
    const fix = 'create a token with this permission, and export it where halo starts';
    return { name, ok: 'warn', says: masker.text(`${token} lacks ${missing}`), fix };
  } catch (error) {
    const { message, hint } = toHaloError(error);
    return { name, ok: 'warn', says: masker.text(message), ...defined({ fix: hint }) };
  }
}
