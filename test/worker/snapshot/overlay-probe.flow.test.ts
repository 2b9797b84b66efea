import { expect, it, onTestFinished, vi } from 'vitest';
import { openEngineProxy } from '../../support/docker/engine-proxy.ts';
import { openHalo, OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

it('workspaces begin with a copy, and setup runs once, if the probe finds that the engine cannot mount an overlay', async () => {
  const proxy = await openEngineProxy('/var/run/docker.sock');
  // As with an engine on another machine: the folders that it names are not those that it mounts.
  const elsewhere = (body: string) => body.replace(/"Mountpoint":"[^"]*"/, '"Mountpoint":"/nowhere"');
  proxy.misbehave((call) => (/^GET .*\/volumes\/halo-probe-/.test(call) ? { rewrite: elsewhere } : undefined));
  vi.stubEnv('DOCKER_HOST', `unix://${proxy.socket}`);
  const halo = await openHalo({ isProbed: false });
  onTestFinished(async () => {
    await halo.close();
    await proxy.close();
    vi.unstubAllEnvs();
  });
  const { root } = newRepository({ '.gitignore': 'deps/\n' });
  const setup = 'setup=["mkdir -p deps && date > deps/version"]';
  const run = await halo.run(
    root,
    [{ id: 'A' }],
    scripted(
      `date +%N > x; ${OK}`,
      ['cat deps/version'],
      [setup, 'snapshot.inputs=["README.md"]', 'snapshot.recheck=0'],
    ),
  );
  expect(run.stopReason).toBe('SUCCESS');
  expect(halo.journal(run.runId).filter(({ type }) => type === 'setup.ended')).toHaveLength(1);
  const modes = halo.journal(run.runId).flatMap((event) => (event.type === 'snapshot.used' ? [event.mode] : []));
  expect(modes).toEqual(['copy', 'copy']);
});
