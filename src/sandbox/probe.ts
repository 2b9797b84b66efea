import { HaloError } from '../core/errors.ts';
import { collectText, discard } from '../lib/sinks.ts';
import { TRUSTED_IMAGE } from './docker/trusted-image.ts';
import type { SandboxEngine, SandboxExit } from './sandbox.ts';

/** The agent in halo's image and its version, e.g. `codex-cli 0.169.0`. */
export async function probeAgent(engine: SandboxEngine): Promise<string> {
  const { exit, text } = await runProbe(engine, '/opt/halo/agents/codex/bin/codex --version');
  if (exit.exitCode === 0) return text.trim();
  throw new HaloError('IMAGE_MISSING', 'Codex does not start in halo-sandbox.', { hint: 'halo image build --force' });
}

async function runProbe(engine: SandboxEngine, script: string): Promise<{ exit: SandboxExit; text: string }> {
  const sandbox = await engine.start({
    image: TRUSTED_IMAGE,
    labels: { run: 'probe', storyKey: 'doctor', attempt: 1, phase: 'probe' },
    user: 65534,
    workdir: '/tmp',
    env: {},
    mounts: [],
    limits: { cpus: 1, memoryBytes: 512 * 1024 * 1024, pids: 32 },
  });
  try {
    const stdout = collectText(10_000);
    const limits = { wallMs: 20_000, idleMs: 20_000, outputBytes: 100_000 };
    const exit = await sandbox.run({ script, stdout: stdout.sink, stderr: discard(), ...limits });
    return { exit, text: stdout.text() };
  } finally {
    await sandbox.remove();
  }
}
