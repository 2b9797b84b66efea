import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEngineProxy, type EngineProxy } from '../../support/docker/engine-proxy.ts';
import { openWorld, type World } from '../../support/faults/world.ts';
import { OK, scripted } from '../../support/halo/halo.ts';

/** An engine whose owner decides what it answers. */

let proxy: EngineProxy;
let world: World;

beforeAll(async () => {
  proxy = await openEngineProxy(
    (process.env.HALO_TEST_LIGHT_ENGINE ?? 'unix:///var/run/docker.sock').replace('unix://', ''),
  );
  world = openWorld({ engine: proxy.socket });
});
afterAll(async () => {
  await world.close();
  await proxy.close();
});

describe('incident engine-exits: an engine that forges exit codes', () => {
  it('makes gates of its own stories pass, and changes nothing but the branch of the run', async () => {
    const forge = (body: string) =>
      body.replace(/"StatusCode":\s*\d+/, '"StatusCode":0').replace(/"ExitCode":\s*\d+/, '"ExitCode":0');
    proxy.misbehave((call) => (/\/containers\/[^/]+\/(?:wait|json)/.test(call) ? { rewrite: forge } : undefined));
    const repository = world.addRepository();
    const before = repository.git('rev-parse', 'HEAD');
    const runId = await world.submit(repository, [{ id: 'A' }], scripted(`echo x > x.txt; ${OK}`, ['exit 3']));
    world.startWorker();
    await world.untilEnded(runId);
    const ended = world.journal(runId).find((event) => event.type === 'run.ended');
    expect(ended).toMatchObject({ stopReason: 'SUCCESS' });
    const started = world
      .journal(runId)
      .flatMap((event) => (event.type === 'story.started' ? [event.engine?.name] : []));
    expect(started).toEqual(['local']);
    expect(repository.git('rev-parse', 'HEAD')).toBe(before);
    const tree = repository.git('ls-tree', '-r', '--name-only', `halo/${runId}`).split('\n');
    const original = repository.git('ls-tree', '-r', '--name-only', before).split('\n');
    expect(tree.filter((path) => !original.includes(path))).toEqual(['x.txt']);
  });
});
