import { HaloError } from '../core/errors.ts';
import { collectText, discard } from '../lib/sinks.ts';
import { TRUSTED_IMAGE } from './docker/trusted-image.ts';
import type { SandboxEngine, SandboxExit } from './sandbox.ts';

const MEMORY_BYTES = 64 * 1024 * 1024;
const PIDS = 32;

/** Whether the engine enforces what it accepts: some take limits and ignore them. */
export async function probeLimits(engine: SandboxEngine): Promise<{ memory: boolean; pids: boolean }> {
  const eat = `exec node --max-old-space-size=1000 -e 'const a=[];for(let i=0;i<40;i++)a.push(Buffer.alloc(8e6,1));console.log("ate")'`;
  const fork = `for i in $(seq ${PIDS * 2}); do sleep 5 & done 2>/dev/null; echo "forked"`;
  const [eaten, forked] = await Promise.all([runProbe(engine, eat), runProbe(engine, fork)]);
  return { memory: !eaten.text.includes('ate'), pids: !forked.text.includes('forked') };
}

/** The agent in halo's image and its version, e.g. `codex-cli 0.169.0`. */
export async function probeAgent(engine: SandboxEngine): Promise<string> {
  const { exit, text } = await runProbe(engine, '/opt/halo/agents/codex/bin/codex --version', 512 * 1024 * 1024);
  if (exit.exitCode === 0) return text.trim();
  throw new HaloError('IMAGE_MISSING', 'Codex does not start in halo-sandbox.', { hint: 'halo image build --force' });
}

async function runProbe(
  engine: SandboxEngine,
  script: string,
  memoryBytes = MEMORY_BYTES,
): Promise<{ exit: SandboxExit; text: string }> {
  const sandbox = await engine.start({
    image: TRUSTED_IMAGE,
    labels: { run: 'probe', storyKey: 'doctor', attempt: 1, phase: 'probe' },
    user: 65534,
    workdir: '/tmp',
    env: {},
    mounts: [],
    limits: { cpus: 1, memoryBytes, pids: PIDS },
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
