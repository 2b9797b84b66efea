import { HaloError } from '../core/errors.ts';
import type { SandboxEngine } from './sandbox.ts';
import { askSandbox } from './throwaway.ts';

/** The agent in halo's image and its version, e.g. `codex-cli 0.169.0`. */
export async function probeAgent(engine: SandboxEngine): Promise<string> {
  const { exit, text } = await askSandbox(engine, {
    about: 'doctor',
    script: '/opt/halo/agents/codex/bin/codex --version',
    workdir: '/tmp',
    limits: { cpus: 1, memoryBytes: 512 * 1024 * 1024, pids: 32 },
  });
  if (exit.exitCode === 0) return text.trim();
  throw new HaloError('IMAGE_MISSING', 'Codex does not start in halo-sandbox.', { hint: 'halo image build --force' });
}
