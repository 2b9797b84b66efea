import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isOlderVersion } from '../../lib/version.ts';
import { runIsolationScript } from '../../sandbox/isolation-check/check-isolation.ts';
import { probeCachePath } from '../../sandbox/probe-cache.ts';
import type { DiskLimitMethod, EngineInfo, SandboxEngine } from '../../sandbox/sandbox.ts';
import type { Finding } from './doctor-finding.ts';

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
  return [...proven.flat(), rung, await checkChannel(engine, home), ...checkAge(facts)];
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
        fix: 'run the worker on the machine of the engine, or give the engine a file system with quotas (xfs, pquota)',
      };
  }
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
