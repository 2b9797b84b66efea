import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { HaloError } from '../core/failure/errors.ts';
import { askOnce } from '../lib/ask-once.ts';
import { writeAtomic } from '../lib/atomic-write.ts';
import { seccompProfile } from './docker/seccomp.ts';
import { TRUSTED_IMAGE } from './docker/trusted-image.ts';
import { tooOld } from './engine-age.ts';
import { judgeProbe } from './isolation-check/judge-isolation.ts';
import { PROBE_LIMITS, PROBE_SCRIPT } from './isolation-check/isolation-script.ts';
import type { Proof, ProvenFact } from './proof.ts';
import type { EngineFacts, SandboxEngine } from './sandbox.ts';
import { askSandbox } from './one-off-sandbox.ts';

/** The runtime that `auto` prefers, because it keeps a kernel of its own between a sandbox and the machine's. */
const PREFERRED = 'runsc';

/**
 * Answers with the proof that the engine keeps what a sandbox promises under the wanted runtime. It is made once per
 * engine, runtime and version of halo, and kept in `home`. Throws DOCKER_UNSAFE with what is ignored, and with the
 * runtimes that there are when the wanted one is none of them, and where the engine is too old.
 */
export function openProver(engine: SandboxEngine, home: string): (wanted: string) => Promise<Proof> {
  // An engine may be mended while a worker runs.
  return askOnce((wanted: string) => findProof(engine, home, wanted));
}

async function findProof(engine: SandboxEngine, home: string, wanted: string): Promise<Proof> {
  const [facts, key] = await describeEngine(engine, wanted);
  const file = join(home, 'sandbox-proof.json');
  const kept = await readKept(file);
  const known = kept[key];
  if (known !== undefined) return { ...known, runtime: known.runtime ?? undefined };
  const proof = await proveEngine(engine, facts, wanted);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const last = Object.entries(kept).slice(-9);
  await writeAtomic(file, JSON.stringify({ ...Object.fromEntries(last), [key]: proof }, null, 2));
  return proof;
}

/** Whatever may change what the probe finds is part of the key. */
async function describeEngine(engine: SandboxEngine, wanted: string): Promise<[EngineFacts, string]> {
  const [facts, image, seccomp] = await Promise.all([engine.facts(), engine.imageId(TRUSTED_IMAGE), seccompProfile()]);
  const { id, version, apiVersion, kernel, runc, cgroupVersion, storageDriver, runtimes, security } = facts;
  const parts = [id, version, apiVersion, kernel, runc, cgroupVersion, storageDriver, runtimes, security, image];
  const text = JSON.stringify([...parts, seccomp, PROBE_SCRIPT, wanted]);
  return [facts, createHash('sha256').update(text).digest('hex').slice(0, 32)];
}

/** Proves anew, whatever was proven before; `auto` falls back to the engine's default. Throws DOCKER_UNSAFE. */
export async function proveEngine(engine: SandboxEngine, facts: EngineFacts, wanted: string): Promise<Proof> {
  const hint = tooOld(facts);
  if (hint !== undefined) {
    const says = `the container engine ${facts.version} is too old: it speaks API ${facts.apiVersion || 'of no version'}`;
    throw new HaloError('DOCKER_UNSAFE', says, { hint });
  }
  const runtime = chooseRuntime(facts, wanted);
  const [judged, disk] = await Promise.all([probeSandbox(engine, runtime), engine.diskRung()]);
  const broken = judged.filter(({ ok }) => ok === 'fail');
  const ptys = judged.some(({ name, ok }) => name === TERMINALS && ok === 'ok');
  if (broken.length === 0) return { runtime, disk, ptys, facts: judged };
  if (wanted === 'auto' && runtime !== undefined) {
    const proof = await proveEngine(engine, { ...facts, runtimes: [] }, wanted);
    const says = `${runtime} is there, but did not pass: ${describe(broken)}`;
    return { ...proof, facts: [...proof.facts, { name: 'runtime', ok: 'warn', says }] };
  }
  throw new HaloError('DOCKER_UNSAFE', `the container engine does not keep a sandbox closed: ${describe(broken)}`, {
    hint:
      broken.find(({ mend }) => mend !== undefined)?.mend ?? '`halo doctor` shows each promise and whether it holds',
  });
}

function chooseRuntime({ runtimes }: EngineFacts, wanted: string): string | undefined {
  if (wanted === 'auto') return runtimes.includes(PREFERRED) ? PREFERRED : undefined;
  if (runtimes.includes(wanted)) return wanted;
  throw new HaloError('DOCKER_UNSAFE', `the container engine has no runtime ${JSON.stringify(wanted)}`, {
    hint: `[sandbox] runtime can be "auto" or one of: ${runtimes.join(', ')}`,
  });
}

/** Runs the real specification once, with small limits, and judges what a program sees and reaches inside. */
export async function probeSandbox(engine: SandboxEngine, runtime: string | undefined): Promise<ProvenFact[]> {
  const own = runtime !== undefined && /runsc|kata/.test(runtime);
  const [{ text }, terminals] = await Promise.all([
    askSandbox(engine, {
      about: 'proof',
      script: PROBE_SCRIPT,
      workdir: '/tmp',
      limits: PROBE_LIMITS,
      runtime,
      wallMs: 60_000,
      outputBytes: 100_000,
    }),
    // A kernel of its own has terminals of its own.
    own ? [] : probeTerminals(engine, runtime),
  ]);
  return [...judgeProbe(text, own), ...terminals];
}

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

/** Whether a sandbox ends at its limit of terminals. An engine that cannot give it one is no reason not to start. */
async function probeTerminals(engine: SandboxEngine, runtime: string | undefined): Promise<ProvenFact[]> {
  const limits = { ...PROBE_LIMITS, ptys: FEW_PTYS };
  const taken = await askSandbox(engine, { about: 'terminals', script: TAKE_PTYS, limits, runtime }).then(
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

function describe(broken: ProvenFact[]): string {
  return broken.map(({ name, says }) => `${name}: ${says}`).join('; ');
}

const Fact = z.object({
  name: z.string(),
  ok: z.enum(['ok', 'warn', 'fail']),
  says: z.string(),
  mend: z.string().exactOptional(),
});
const Kept = z.record(
  z.string(),
  z.object({
    runtime: z.string().optional(),
    disk: z.enum(['quota', 'watch', 'sample']),
    ptys: z.boolean(),
    facts: z.array(Fact),
  }),
);

/** What was proven before; whatever is wrong with the file, proving again mends it. */
async function readKept(file: string): Promise<z.output<typeof Kept>> {
  try {
    return Kept.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return {};
  }
}
