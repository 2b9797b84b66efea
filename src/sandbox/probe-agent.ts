import { shellQuote } from '../lib/text.ts';
import { PYTHON_VENV } from '../core/command-needs.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { Mount, SandboxEngine } from './sandbox.ts';
import { runOneOffSandbox } from './one-off-sandbox.ts';

/** On a busy machine, a program of this size takes long to start. */
const START_MS = 120_000;

/** Returns what an agent's program says of its version, e.g. `codex-cli 0.169.0`. Throws IMAGE_MISSING. */
export async function readAgentVersion(
  engine: SandboxEngine,
  { title, versionCommand, mounts = [] }: { title: string; versionCommand: string; mounts?: Mount[] },
): Promise<string> {
  const { exit, text } = await runOneOffSandbox(engine, {
    purpose: 'doctor',
    script: versionCommand,
    mounts,
    workdir: '/tmp',
    limits: { cpus: 1, memoryBytes: 1024 ** 3, pids: 64 },
    wallMs: START_MS,
  });
  const version = text.trim();
  if (exit.exitCode === 0) return /[a-z]/i.test(version) ? version : `${title} ${version}`;
  throw new HaloError('IMAGE_MISSING', `${title} does not start in halo-sandbox.`, {
    hint: 'Rebuild the image with `halo image build --force`.',
  });
}

/** Prints the name of each program that the image has, with the first line of its version. */
const LOOK_UP = `case "$program" in
  ${PYTHON_VENV}) python3 -c 'import ensurepip' >/dev/null 2>&1 && echo "$program";;
  go) command -v go >/dev/null 2>&1 && echo "go $(go version 2>/dev/null | head -n 1)";;
  *) command -v "$program" >/dev/null 2>&1 && echo "$program $(case "$program" in
    node|pnpm|yarn|rustc) "$program" --version </dev/null 2>/dev/null | head -n 1;; esac)";;
esac`;

/**
 * Returns the version of each program that an image has, undefined for those that it lacks; names contain no spaces. Only
 * programs of which the version matters are asked for it. Throws like `SandboxEngine.start`.
 */
export async function readProgramVersions(
  engine: SandboxEngine,
  image: string,
  programs: readonly string[],
): Promise<Map<string, string | undefined>> {
  const words = programs.map(shellQuote).join(' ');
  const { exit, text } = await runOneOffSandbox(engine, {
    purpose: 'programs',
    image,
    script: `for program in ${words}; do ${LOOK_UP}; done; true`,
  });
  if (exit.exitCode !== 0) throw new HaloError('IMAGE_MISSING', `The image ${image} has no working shell.`);
  const found = new Map(
    text.split('\n').map((line) => {
      const [program = '', ...version] = line.split(' ');
      return [program, version.join(' ')];
    }),
  );
  return new Map(programs.map((program) => [program, found.get(program)]));
}
