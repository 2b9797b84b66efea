import Docker from 'dockerode';
import { expect, it, vi } from 'vitest';
import { discardSink } from '../../src/lib/streams.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { smallSandbox } from '../support/docker/sandbox-spec.ts';
import { PATIENCE } from '../support/patience.ts';

const engine = openDockerEngine();
const spec = smallSandbox('connections', 34_567);
const SLEEP = {
  script: 'sleep 60',
  stdout: discardSink(),
  stderr: discardSink(),
  wallMs: 30_000,
  idleMs: 30_000,
  outputBytes: 1e6,
};

const FATES: Record<string, (sandbox: Sandbox) => Promise<unknown>> = {
  'is removed without a command': (sandbox) => sandbox.remove(),
  'is removed after it was prepared': (sandbox) => sandbox.prepare('true').then(() => sandbox.remove()),
  'is removed while its command runs': (sandbox) => {
    const running = sandbox.run(SLEEP);
    return Promise.all([running, sandbox.remove()]);
  },
};

it.for(Object.entries(FATES))('no connection to the engine remains of a sandbox that %s', async ([, end]) => {
  const before = connections();
  await end(await engine.start(spec));
  await vi.waitFor(() => expect(connections()).toBeLessThanOrEqual(before), PATIENCE);
});

it('no connection to the engine remains of a sandbox that is removed before it has started', async () => {
  const docker = new Docker();
  const before = connections();
  const filters = { label: ['dev.halo.story=swept'] };
  const labels = { ...spec.labels, storyKey: 'swept' };
  for (let tries = 0; tries < 5; tries += 1) {
    let over = false;
    const starting = engine
      .start({ ...spec, labels })
      .then(
        (sandbox) => sandbox.remove(),
        () => {},
      )
      .finally(() => (over = true));
    while (!over) {
      const found = await docker.listContainers({ all: true, filters });
      await Promise.all(
        found.map(({ Id }) =>
          docker
            .getContainer(Id)
            .remove({ force: true })
            .catch(() => {}),
        ),
      );
    }
    await starting;
  }
  await vi.waitFor(() => expect(connections()).toBeLessThanOrEqual(before), PATIENCE);
});

/** A process does not end as long as it has one. */
const connections = () => process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap').length;
