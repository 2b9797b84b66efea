import { randomBytes } from 'node:crypto';
import { test as base } from 'vitest';
import { tailSink } from '../../../src/lib/streams.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import type { Command, Mount, Sandbox, SandboxSpec, VolumeOptions } from '../../../src/sandbox/sandbox.ts';
import { smallSandbox } from '../../support/docker/sandbox-spec.ts';

export const USER = 34_567;
export const SPEC: SandboxSpec = { ...smallSandbox('engine', USER), env: { GREETING: 'hello' } };

const LIMITS = { wallMs: 60_000, idleMs: 60_000, outputBytes: 10_000_000 };

/** `engine` is that of the environment; what `start` and `volume` create is removed after the test. */
export const test = base
  .extend('engine', () => openDockerEngine(undefined, { isHere: () => Promise.resolve(true) }))
  /** The names of volumes to remove. */
  .extend('volumes', ({ engine }, { onCleanup }) => {
    const volumes: string[] = [];
    onCleanup(async () => {
      for (const name of volumes.toReversed()) await engine.removeVolume(name);
    });
    return volumes;
  })
  /** Creates a volume with a new name. */
  .extend('volume', ({ engine, volumes }) => async (changes: Partial<VolumeOptions> = {}) => {
    const name = newName();
    await engine.createVolume(name, SPEC.labels, { user: USER, ...changes });
    volumes.push(name);
    return name;
  })
  /** Needs the volumes only because they are removed after its sandboxes. */
  .extend('start', ({ engine, volumes: _volumes }, { onCleanup }) => {
    const started: Sandbox[] = [];
    onCleanup(async () => void (await Promise.all(started.map((sandbox) => sandbox.remove()))));
    return async (changes: Partial<SandboxSpec> = {}) => {
      const sandbox = await engine.start({ ...SPEC, ...changes });
      started.push(sandbox);
      return sandbox;
    };
  })
  /** Runs a command in a sandbox of its own. */
  .extend('run', ({ start }) => async (script: string, changes: Partial<SandboxSpec> = {}) => {
    const sandbox = await start(changes);
    const done = await runIn(sandbox, script);
    await sandbox.remove();
    return done;
  });

export async function runIn(sandbox: Sandbox, script: string, changes: Partial<Command> = {}) {
  const [stdout, stderr] = [tailSink(10_000), tailSink(10_000)];
  const exit = await sandbox.run({ script, stdout: stdout.sink, stderr: stderr.sink, ...LIMITS, ...changes });
  return { exit, stdout: stdout.text(), stderr: stderr.text() };
}

export function newName(): string {
  return `halo-test-${randomBytes(6).toString('hex')}`;
}

/** A volume as the workspace of a sandbox. */
export function workspaceOf(source: string, readOnly = false): Pick<SandboxSpec, 'mounts' | 'workdir'> {
  const mount: Mount = { kind: 'volume', source, target: '/workspace', readOnly, copyUp: !readOnly };
  return { mounts: [mount], workdir: '/workspace' };
}
