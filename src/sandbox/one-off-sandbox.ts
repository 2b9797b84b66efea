import { collectText, discard } from '../lib/sinks.ts';
import { TRUSTED_IMAGE } from './docker/trusted-image.ts';
import type { Mount, Sandbox, SandboxEngine, SandboxExit, SandboxLimits } from './sandbox.ts';

/** What a throwaway sandbox is asked, and how it is made; what is absent has small, harmless values. */
export interface Question {
  /** What it is about, for people who see the container. */
  about: string;
  script: string;
  image?: string;
  /** Nobody's when absent. */
  user?: number;
  workdir?: string;
  env?: Record<string, string>;
  mounts?: Mount[];
  limits?: SandboxLimits;
  runtime?: string | undefined;
  /** Most time, in ms. */
  wallMs?: number;
  /** Most output that is kept. */
  outputBytes?: number;
  /** Before the script runs. */
  listen?: ((sandbox: Sandbox) => Promise<unknown>) | undefined;
}

const SMALL: SandboxLimits = { cpus: 1, memoryBytes: 64 * 1024 * 1024, pids: 16 };

/** Runs a script of halo's own in a sandbox of no run, and removes it. Answers with its stdout. Throws as `SandboxEngine.start`. */
export async function askSandbox(
  engine: Pick<SandboxEngine, 'start'>,
  question: Question,
): Promise<{ exit: SandboxExit; text: string }> {
  const { about, script, runtime, wallMs = 20_000, outputBytes = 10_000 } = question;
  const sandbox = await engine.start({
    image: question.image ?? TRUSTED_IMAGE,
    labels: { run: 'probe', storyKey: about, attempt: 1, phase: 'probe' },
    user: question.user ?? 65_534,
    workdir: question.workdir ?? '/',
    env: question.env ?? {},
    mounts: question.mounts ?? [],
    limits: question.limits ?? SMALL,
    ...(runtime === undefined ? {} : { runtime }),
  });
  try {
    await question.listen?.(sandbox);
    const stdout = collectText(outputBytes);
    const limits = { wallMs, idleMs: wallMs, outputBytes: 10 * outputBytes };
    const exit = await sandbox.run({ script, stdout: stdout.sink, stderr: discard(), ...limits });
    return { exit, text: stdout.text() };
  } finally {
    await sandbox.remove();
  }
}
