import { tailSink, discardSink } from '../lib/streams.ts';
import { HALO_IMAGE } from './docker/image/image-recipe.ts';
import type { Mount, Sandbox, SandboxEngine, SandboxExit, SandboxLimits } from './sandbox.ts';
import { ignore } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';

/** The script and settings of a one-off sandbox; defaults are small and harmless. */
interface OneOffRequest {
  /** Shown in the name and labels of the container. */
  purpose: string;
  script: string;
  image?: string;
  /** Default: 65534, a user without rights. */
  user?: number;
  workdir?: string;
  env?: Record<string, string>;
  mounts?: Mount[];
  limits?: SandboxLimits;
  runtime?: string | undefined;
  /** Time limit in ms. */
  wallMs?: number;
  /** Maximum number of bytes kept of the output. */
  outputBytes?: number;
  /**
   * Receives the removal, which then continues in the background; default: removed before the result is returned. What is left is
   * removed with other probes.
   */
  removing?: (removed: Promise<void>) => void;
  /** Called before the script runs. */
  listen?: ((sandbox: Sandbox) => Promise<unknown>) | undefined;
}

const SMALL_LIMITS: SandboxLimits = { cpus: 1, memoryBytes: 64 * 1024 * 1024, pids: 16 };

/** Runs one of halo's scripts in a sandbox that belongs to no run, and removes it. Returns its stdout. Throws like `SandboxEngine.start`. */
export async function runOneOffSandbox(
  engine: Pick<SandboxEngine, 'start'>,
  question: OneOffRequest,
): Promise<{ exit: SandboxExit; text: string }> {
  const { purpose: about, script, runtime, wallMs = 20_000, outputBytes = 10_000 } = question;
  const sandbox = await engine.start({
    image: question.image ?? HALO_IMAGE,
    labels: { run: 'probe', storyKey: about, attempt: 1, phase: 'probe' },
    user: question.user ?? 65_534,
    workdir: question.workdir ?? '/',
    env: question.env ?? {},
    mounts: question.mounts ?? [],
    limits: question.limits ?? SMALL_LIMITS,
    ...defined({ runtime }),
  });
  try {
    await question.listen?.(sandbox);
    const stdout = tailSink(outputBytes);
    const limits = { wallMs, idleMs: wallMs, outputBytes: 10 * outputBytes };
    const exit = await sandbox.run({ script, stdout: stdout.sink, stderr: discardSink(), ...limits });
    return { exit, text: stdout.text() };
  } finally {
    const removed = sandbox.remove();
    if (question.removing === undefined) await removed;
    else question.removing(removed.catch(ignore));
  }
}
