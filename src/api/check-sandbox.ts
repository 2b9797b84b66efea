import { isOlder } from '../lib/version-order.ts';
import { probeSandbox } from '../sandbox/prove.ts';
import type { DiskRung, EngineFacts, SandboxEngine } from '../sandbox/sandbox.ts';
import type { Finding } from './finding.ts';

/** Oldest release that still gets mended. */
const OLDEST_MAINTAINED_ENGINE = '25.0';

/** What the engine shows of itself in a throwaway sandbox, promise by promise, also under runsc where it is there. */
export async function checkSandbox(engine: SandboxEngine): Promise<Finding[]> {
  const facts = await engine.facts();
  const runtimes = [undefined, ...facts.runtimes.filter((name) => name === 'runsc')];
  const proven = await Promise.all(runtimes.map((runtime) => checkRuntime(engine, runtime)));
  return [...proven.flat(), describeRung(await engine.diskRung()), ...checkAge(facts)];
}

async function checkRuntime(engine: SandboxEngine, runtime: string | undefined): Promise<Finding[]> {
  const facts = await probeSandbox(engine, runtime);
  if (runtime === undefined) return facts.map((fact): Finding => ({ ...fact, name: `sandbox: ${fact.name}` }));
  const broken = facts.filter(({ ok }) => ok === 'fail');
  if (broken.length === 0) return [{ name: `runtime ${runtime}`, ok: 'ok', says: 'passes, and is used' }];
  const says = `does not pass, and is not used: ${broken.map((fact) => `${fact.name}: ${fact.says}`).join('; ')}`;
  return [{ name: `runtime ${runtime}`, ok: 'warn', says }];
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
