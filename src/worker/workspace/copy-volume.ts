import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { discardSink, tailSink } from '../../lib/streams.ts';
import type { SandboxSpec } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { SNAPSHOT } from './sandbox-paths.ts';

const MAX_OUTPUT = 1_000_000;

interface VolumeCopy extends Pick<SandboxSpec, 'image' | 'user'> {
  /** A volume, which is at `SNAPSHOT` in the sandbox. */
  from: string;
  /** An empty volume, which is at `target`. */
  to: string;
  target: string;
  script: string;
  /** For the sentence "<what> could not be copied: …". */
  what: string;
}

/** Copies the files of a snapshot into an empty volume, unless the attempt is stopped. Throws DOCKER_FAILED, DISK_FAILED. */
export async function copyVolume(
  { config, resources, signal }: SandboxContext,
  { from, to, target, image, user, script, what }: VolumeCopy,
): Promise<void> {
  const sandbox = await resources.startSandbox({
    image,
    labels: resources.labels('copy'),
    user,
    workdir: '/',
    env: {},
    mounts: [
      { kind: 'volume', source: from, target: SNAPSHOT, readOnly: true, copyUp: false },
      { kind: 'volume', source: to, target, readOnly: false, copyUp: true },
    ],
    limits: config.limits,
  });
  const { wallMs, idleMs } = config.limits;
  const stderr = tailSink(2_000);
  const out = { stdout: discardSink(), stderr: stderr.sink, outputBytes: MAX_OUTPUT };
  const exit = await sandbox.run({ script, ...out, wallMs, idleMs, signal });
  await sandbox.remove();
  if (exit.exitCode === 0 || exit.ended === 'aborted') return;
  const why = safeLine(stderr.text().trim().split('\n').at(-1) ?? '') || exit.ended;
  throw new HaloError('DOCKER_FAILED', `${what} could not be copied: ${why}.`, {
    hint: 'Check the disk of the engine, and [limits] disk.',
  });
}
