import { shellQuote } from '../lib/shell-quote.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { SandboxEngine } from './sandbox.ts';
import { askSandbox } from './one-off-sandbox.ts';

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

/** Which of these programs an image lacks; names are words without blanks. Throws as `SandboxEngine.start`. */
export async function findMissingPrograms(
  engine: SandboxEngine,
  image: string,
  programs: readonly string[],
): Promise<string[]> {
  const words = programs.map(shellQuote).join(' ');
  const { exit, text } = await askSandbox(engine, {
    about: 'programs',
    image,
    script: `for program in ${words}; do command -v "$program" >/dev/null 2>&1 || echo "$program"; done`,
  });
  if (exit.exitCode === 0) return text.split('\n').filter((name) => programs.includes(name));
  throw new HaloError('IMAGE_MISSING', `The image ${image} has no shell that runs.`);
}
