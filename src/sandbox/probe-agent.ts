import { shellQuote } from '../lib/text.ts';
import { PYTHON_VENV } from '../core/command-needs.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { SandboxEngine } from './sandbox.ts';
import { runOneOffSandbox } from './one-off-sandbox.ts';

/** Returns the version of an agent in halo's image, e.g. `codex-cli 0.169.0`. Throws IMAGE_MISSING. */
export async function readAgentVersion(
  engine: SandboxEngine,
  { title, versionCommand }: { title: string; versionCommand: string },
): Promise<string> {
  const { exit, text } = await runOneOffSandbox(engine, {
    purpose: 'doctor',
    script: versionCommand,
    workdir: '/tmp',
    limits: { cpus: 1, memoryBytes: 1024 ** 3, pids: 64 },
  });
  const version = text.trim();
  if (exit.exitCode === 0) return /[a-z]/i.test(version) ? version : `${title} ${version}`;
  throw new HaloError('IMAGE_MISSING', `${title} does not start in halo-sandbox.`, {
    hint: 'Rebuild the image with `halo image build --force`.',
  });
}

const LOOK_UP = `case "$program" in ${PYTHON_VENV}) python3 -c 'import ensurepip';; *) command -v "$program";; esac`;

/** Returns the programs that an image lacks; names contain no spaces. Throws like `SandboxEngine.start`. */
export async function findMissingPrograms(
  engine: SandboxEngine,
  image: string,
  programs: readonly string[],
): Promise<string[]> {
  const words = programs.map(shellQuote).join(' ');
  const { exit, text } = await runOneOffSandbox(engine, {
    purpose: 'programs',
    image,
    script: `for program in ${words}; do ${LOOK_UP} >/dev/null 2>&1 || echo "$program"; done`,
  });
  if (exit.exitCode === 0) return text.split('\n').filter((name) => programs.includes(name));
  throw new HaloError('IMAGE_MISSING', `The image ${image} has no working shell.`);
}
