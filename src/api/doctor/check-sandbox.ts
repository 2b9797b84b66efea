import { join } from 'node:path';
import { isOlder } from '../../lib/version-order.ts';
import { probeSandbox } from '../../sandbox/prove.ts';
import type { DiskRung, EngineFacts, SandboxEngine } from '../../sandbox/sandbox.ts';
import type { Finding } from '../finding.ts';

/** Oldest release that still gets mended. */
const OLDEST_MAINTAINED_ENGINE = '25.0';

/**
 * What the engine shows of itself in a throwaway sandbox, promise by promise, also under runsc where it is there.
 * `home` is the HALO_HOME from which sandboxes are to reach their gateways.
 */
export async function checkSandbox(engine: SandboxEngine, home: string): Promise<Finding[]> {
  const facts = await engine.facts();
  const runtimes = [undefined, ...facts.runtimes.filter((name) => name === 'runsc')];
  const proven = await Promise.all(runtimes.map((runtime) => checkRuntime(engine, runtime)));
  const rung = describeRung(await engine.diskRung());
  return [...proven.flat(), rung, await checkChannel(engine, home), ...checkAge(facts)];
}

async function checkRuntime(engine: SandboxEngine, runtime: string | undefined): Promise<Finding[]> {
  const facts = await probeSandbox(engine, runtime);
  if (runtime === undefined) return facts.map((fact): Finding => ({ ...fact, name: `sandbox: ${fact.name}` }));
  const broken = facts.filter(({ ok }) => ok === 'fail');
  if (broken.length === 0) return [{ name: `runtime ${runtime}`, ok: 'ok', says: 'passes, and is used' }];
  const says = `does not pass, and is not used: ${broken.map((fact) => `${fact.name}: ${fact.says}`).join('; ')}`;
  return [{ name: `runtime ${runtime}`, ok: 'warn', says }];
}

/** Also shown where nobody is stopped by it: over stdio, everything takes a little longer. */
async function checkChannel(engine: SandboxEngine, home: string): Promise<Finding> {
  const name = 'sandbox: channel';
  if (await engine.canReach(join(home, 'sockets'), undefined)) {
    return { name, ok: 'ok', says: 'socket: sandboxes reach the gateway through a mounted socket' };
  }
  if (await engine.canBridge()) {
    return { name, ok: 'ok', says: 'stdio: no socket can be mounted here, a bridge in each sandbox stands in for it' };
  }
  const mend = '`halo image build`, then see whether the engine lets halo execute /opt/halo/bin/bridge in a container';
  return { name, ok: 'fail', says: 'sandboxes reach the gateway neither through a socket nor over stdio', mend };
}

function describeRung(rung: DiskRung): Finding {
  const name = 'sandbox: disk';
  switch (rung) {
    case 'quota':
      return { name, ok: 'ok', says: 'workspaces have quotas of the engine' };
    case 'watch':
      return {
        name,
        ok: 'ok',
        says: 'no quotas here; the free space is watched, and a workspace that grows too large is ended',
      };
    case 'sample':
      return {
        name,
        ok: 'warn',
        says: 'the disk of the engine is not on this machine: workspaces are measured every 20 s only',
        mend: 'have the worker run beside the engine, or give the engine a file system with quotas (xfs, pquota)',
      };
  }
}

/** Old programs below a sandbox, which its walls rest on. */
function checkAge({ version, runc }: EngineFacts): Finding[] {
  const findings: Finding[] = [];
  if (runc !== undefined && isOldRunc(runc)) findings.push(old('runc', runc, '1.2.8, 1.3.3'));
  if (isOlder(version, OLDEST_MAINTAINED_ENGINE)) findings.push(old('docker', version, OLDEST_MAINTAINED_ENGINE));
  return findings;
}

/** Mended in two lines of releases. */
function isOldRunc(version: string): boolean {
  return isOlder(version, '1.2.8') || (!isOlder(version, '1.3') && isOlder(version, '1.3.3'));
}

function old(name: string, version: string, oldest: string): Finding {
  return {
    name,
    ok: 'warn',
    says: `${version} is old: ways out of a container were closed since, unless your distribution closed them in it`,
    mend: `update to ${oldest} or newer, or use a machine for halo alone`,
  };
}
