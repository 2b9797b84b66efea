import { z } from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import { memoizeAsync } from '../../lib/async.ts';
import { findUpgradeHint } from '../docker/engine-info.ts';
import {
  ISOLATION_LIMITS,
  ISOLATION_SCRIPT,
  judgeIsolation,
  type IsolationFinding,
  type IsolationReport,
} from './judge-isolation.ts';
import type { EngineInfo, SandboxEngine } from '../sandbox.ts';
import { runOneOffSandbox } from '../one-off-sandbox.ts';
import { shortHash, type ProbeCache } from '../probe-cache.ts';

/** The runtime that `auto` prefers: gVisor isolates sandboxes from the host's kernel. */
const PREFERRED = 'runsc';

/** What an engine enforces under a runtime, as long as both stay the same. */
type Proof = Omit<IsolationReport, 'disk'>;

/**
 * Checks that the engine enforces the isolation of sandboxes under the wanted runtime. The check runs once per engine,
 * runtime and version of halo, and is cached; how the size of a workspace is limited depends on a file system, and is asked
 * in each process. Throws DOCKER_UNSAFE with what is not enforced, for an unknown runtime, and for an engine that is too old.
 */
export function openIsolationCheck(
  engine: SandboxEngine,
  cache: ProbeCache,
): (wanted: string) => Promise<IsolationReport> {
  // Failures are not cached: an engine may be fixed while a worker runs.
  return memoizeAsync((wanted: string) =>
    withDisk(
      engine,
      cache.get({
        name: `isolation ${wanted} ${shortHash(ISOLATION_SCRIPT)}`,
        schema: Report,
        // A runtime that did not pass, and terminals without a limit, are tried again by the next process.
        isCached: ({ facts }) => !facts.some(({ name, ok }) => name === RUNTIME || (name === TERMINALS && ok !== 'ok')),
        run: async () => proveIsolation(engine, await engine.info(), wanted),
      }),
    ),
  );
}

async function withDisk(engine: SandboxEngine, proving: Promise<Proof>): Promise<IsolationReport> {
  const [proof, disk] = await Promise.all([proving, engine.diskLimitMethod()]);
  return { ...proof, disk };
}

/** Runs the check without the cache; `auto` falls back to the engine's default runtime. Throws DOCKER_UNSAFE. */
export function checkIsolation(engine: SandboxEngine, facts: EngineInfo, wanted: string): Promise<IsolationReport> {
  return withDisk(engine, proveIsolation(engine, facts, wanted));
}

async function proveIsolation(engine: SandboxEngine, facts: EngineInfo, wanted: string): Promise<Proof> {
  const hint = findUpgradeHint(facts);
  if (hint !== undefined) {
    const says = `The container engine ${facts.version} is too old: its API version is ${facts.apiVersion || 'unknown'}.`;
    throw new HaloError('DOCKER_UNSAFE', says, { hint });
  }
  const runtime = chooseRuntime(facts, wanted);
  const judged = await runIsolationScript(engine, runtime);
  const broken = judged.filter(({ ok }) => ok === 'fail');
  const ptys = judged.some(({ name, ok }) => name === TERMINALS && ok === 'ok');
  if (broken.length === 0) return { runtime, ptys, facts: judged };
  if (wanted === 'auto' && runtime !== undefined) {
    const proof = await proveIsolation(engine, { ...facts, runtimes: [] }, wanted);
    const says = `${runtime} is installed, but did not pass: ${describeBroken(broken)}`;
    return { ...proof, facts: [...proof.facts, { name: RUNTIME, ok: 'warn', says }] };
  }
  throw new HaloError('DOCKER_UNSAFE', `The container engine cannot isolate sandboxes: ${describeBroken(broken)}.`, {
    hint: broken.find(({ fix }) => fix !== undefined)?.fix ?? 'Run `halo doctor` to see the result of each check.',
  });
}

function chooseRuntime({ runtimes }: EngineInfo, wanted: string): string | undefined {
  if (wanted === 'auto') return runtimes.includes(PREFERRED) ? PREFERRED : undefined;
  if (runtimes.includes(wanted)) return wanted;
  throw new HaloError('DOCKER_UNSAFE', `The container engine has no runtime ${JSON.stringify(wanted)}.`, {
    hint: `Set [sandbox] runtime to "auto" or one of: ${runtimes.join(', ')}.`,
  });
}

/** Whether sandboxes of a runtime have kernels of their own, which share no sockets. */
export function hasOwnKernel(runtime: string | undefined): boolean {
  return runtime !== undefined && /runsc|kata/.test(runtime);
}

/** Runs a sandbox with the real container options and small limits, and judges what a program can see and do inside. */
export async function runIsolationScript(
  engine: SandboxEngine,
  runtime: string | undefined,
): Promise<IsolationFinding[]> {
  const own = hasOwnKernel(runtime);
  const [{ text }, terminals] = await Promise.all([
    runOneOffSandbox(engine, {
      purpose: 'proof',
      script: ISOLATION_SCRIPT,
      workdir: '/tmp',
      limits: ISOLATION_LIMITS,
      runtime,
      wallMs: 60_000,
      outputBytes: 100_000,
    }),
    // A runtime with its own kernel has its own terminals.
    own ? [] : probeTerminals(engine, runtime),
  ]);
  return [...judgeIsolation(text, own), ...terminals];
}

/** The finding about a preferred runtime that is not used. */
const RUNTIME = 'runtime';
const TERMINALS = 'terminals';
const FEW_PTYS = 4;
const TAKE_PTYS = `exec python3 -c "
import os
taken = 0
try:
    while taken < 3 * ${FEW_PTYS}:
        os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)
        taken += 1
except OSError: pass
print(taken)"`;

/** Checks whether a sandbox is limited in its terminals. Only a warning if the engine does not support that. */
async function probeTerminals(engine: SandboxEngine, runtime: string | undefined): Promise<IsolationFinding[]> {
  const limits = { ...ISOLATION_LIMITS, ptys: FEW_PTYS };
  const taken = await runOneOffSandbox(engine, { purpose: 'terminals', script: TAKE_PTYS, limits, runtime }).then(
    ({ text }) => Number(text),
    (error: unknown) => {
      if (error instanceof HaloError && error.code === 'DOCKER_FAILED') return undefined;
      throw error;
    },
  );
  if (taken === FEW_PTYS) return [{ name: TERMINALS, ok: 'ok', says: 'each sandbox has a limit of its own' }];
  const says = 'one sandbox can take all terminals (ptys) that the machine has for containers';
  return [{ name: TERMINALS, ok: 'warn', says }];
}

function describeBroken(broken: IsolationFinding[]): string {
  return broken.map(({ name, says }) => `${name}: ${says}`).join('; ');
}

const Fact = z.object({
  name: z.string(),
  ok: z.enum(['ok', 'warn', 'fail']),
  says: z.string(),
  fix: z.string().exactOptional(),
});
const Report = z
  .object({
    runtime: z.string().optional(),
    ptys: z.boolean(),
    facts: z.array(Fact),
  })
  .transform(({ runtime, ...report }) => ({ ...report, runtime }));
