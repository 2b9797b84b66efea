import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import Docker from 'dockerode';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import type { SandboxSpec } from '../../src/sandbox/sandbox.ts';
import { smallSandbox } from '../support/docker/sandbox-spec.ts';
import { runIn, workspaceOf } from './engine-contract/engine-fixture.ts';

// The disk of such an engine does not say how many files are created on it.
const engine = openDockerEngine(undefined, { isHere: () => Promise.resolve(false) });
const SPEC = smallSandbox('depth', 34_569);

/** Runs scripts in sandboxes with one volume, and says how many sandboxes emptied it before its removal. */
async function emptied(scripts: readonly string[], changes: Partial<SandboxSpec> = {}) {
  const name = `halo-test-depth-${randomBytes(4).toString('hex')}`;
  await engine.createVolume(name, SPEC.labels, { user: SPEC.user });
  onTestFinished(() => engine.removeVolume(name));
  const runs = [];
  for (const script of scripts) {
    const sandbox = await engine.start({ ...SPEC, ...workspaceOf(name), ...changes });
    runs.push(await runIn(sandbox, script));
    await sandbox.remove();
  }
  const docker = new Docker();
  const since = Date.now() / 1000;
  await engine.removeVolume(name);
  await expect(docker.getVolume(name).inspect()).rejects.toMatchObject({ statusCode: 404 });
  const filters = { event: ['mount'], volume: [name] };
  const events = await text(await docker.getEvents({ since, until: Date.now() / 1000, filters }));
  return { runs, sandboxes: events.split('\n').filter(Boolean).length };
}

describe('a volume on an engine whose disk does not report its files', () => {
  it('is removed without a further sandbox if all that wrote to it said that it is shallow', async () => {
    const { runs, sandboxes } = await emptied(['mkdir -p a/b/c && echo work >&2; exit 7', 'cat nothing; kill -9 $$']);
    expect(sandboxes).toBe(0);
    expect(runs).toMatchObject([
      { stderr: 'work\n', exit: { ended: 'exited', exitCode: 7 } },
      { stderr: 'cat: nothing: No such file or directory\n', exit: { exitCode: 137, outOfMemory: 'maybe' } },
    ]);
  });
});

describe('incident endless-depth: the depth that a sandbox reports', () => {
  test.each([
    ['more levels than are measured', 'mkdir -p $(printf "d/%.0s" $(seq 300))'],
    ['a folder that cannot be read', 'mkdir -p a/b; chmod 0 a'],
    ['a measuring process that was killed', 'printf "\\006%032d 1\\n" 0 >&2; kill -9 $PPID; sleep 9'],
    ['too few open files to measure', 'prlimit --nofile=3:3 --pid $PPID; mkdir -p a/b'],
  ])('does not count with %s: a sandbox empties the volume', async (_name, script) => {
    expect(await emptied([script])).toMatchObject({ sandboxes: 1 });
  });

  it('cannot be imitated: the memory of the measuring process is closed', async () => {
    const { runs } = await emptied([
      'cat /proc/$PPID/environ /proc/$PPID/maps; ls -l /proc/$PPID/fd; dd if=/proc/$PPID/mem bs=1 count=1',
    ]);
    expect(runs[0]?.stderr.match(/Permission denied/g)).toHaveLength(4);
    expect(runs[0]?.stdout).toBe('');
  });
});
