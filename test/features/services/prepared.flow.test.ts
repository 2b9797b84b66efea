import { describe, expect } from 'vitest';
import { SnapshotFiles } from '../../../src/store/snapshot-files.ts';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import type { TestHalo } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { ask, keyValueService } from './key-value-service.ts';

/** A service whose data is what a file of the repository says. */
const SEEDED = keyValueService({ prepare: [ask('set $(cat seed.txt)')], prepare_files: ['seed.txt'] });
const IS_SEEDED = `test "$(${ask('get')})" = "$(cat seed.txt)"`;

/** How often a command of a run had to prepare the data of a service. */
function preparations(halo: TestHalo, runId: string): number {
  const ready = halo.journal(runId).flatMap((event) => (event.type === 'services.ready' ? event.services : []));
  return ready.filter(({ preparedMs }) => preparedMs !== undefined).length;
}

describe('prepare', () => {
  test('runs once for all commands, stories and runs, each of which writes into data of its own', async ({ halo }) => {
    const { root } = newRepository({ 'seed.txt': 'first\n' });
    const use = `${IS_SEEDED} && ${ask('set evil')}`;
    const settings = scripted(
      `${use} && date +%N > $(date +%N).txt; ${OK}`,
      [use, use],
      [...SEEDED, 'run.parallel=2', 'run.on_failure="continue"'],
    );
    const first = await halo.run(root, [{ id: 'A' }, { id: 'B' }], settings);
    expect(first.stopReason).toBe('SUCCESS');
    expect(preparations(halo, first.runId)).toBe(1);
    const next = await halo.run(root, [{ id: 'A' }], settings);
    expect([next.stopReason, preparations(halo, next.runId)]).toEqual(['SUCCESS', 0]);
    const log = [1, 2].map((each) => halo.readFile(first.runId, `artifacts/${first.stories[0]!.key}/1/services/clean-${each}-kv.log`)); // prettier-ignore
    expect(log).toEqual(['it starts\n', 'it starts\n']);
  });

  test('runs again for a story that changes its files, whose data later stories have once it has landed', async ({
    halo,
  }) => {
    const { root } = newRepository({ 'seed.txt': 'first\n' });
    const agent = `cat > /tmp/prompt; ${IS_SEEDED} || exit 1; grep -q 'Story A' /tmp/prompt && echo second > seed.txt; date +%N > new.txt; ${OK}`;
    const run = await halo.run(root, [{ id: 'A' }, { id: 'B' }], scripted(agent, [IS_SEEDED, IS_SEEDED], SEEDED));
    expect([run.stopReason, preparations(halo, run.runId)]).toEqual(['SUCCESS', 2]);
    const stored = (await new SnapshotFiles(halo.home).list()).map(({ record, onlyRun }) => [record.setup, onlyRun]);
    expect(stored.filter(([, onlyRun]) => onlyRun === run.runId)).toHaveLength(1);
    const { key } = run.stories[0]!;
    // The services of both gates start at the same time, and either may make the data.
    const logs = [1, 2].map((each) => halo.readFile(run.runId, `artifacts/${key}/1/services/clean-${each}-kv.log`));
    expect(logs.toSorted((a, b) => a.length - b.length)).toEqual([
      'it starts\n',
      expect.stringMatching(/it starts\n[^]*\$ bash -c .*\nsecond\n[^]*it starts\n/),
    ]);
  });

  test(
    'is copied where the engine has no overlays, and is not changed by what uses it',
    skipFor(belowFull()),
    async ({ halo }) => {
      const { root } = newRepository({ 'seed.txt': 'first\n' });
      const use = `${IS_SEEDED} && ${ask('set evil')}`;
      const settings = scripted(`${use} && date > now.txt; ${OK}`, [use, use], [...SEEDED, 'snapshot.mode="copy"']);
      const run = await halo.run(root, [{ id: 'A' }], settings);
      expect([run.stopReason, preparations(halo, run.runId)]).toEqual(['SUCCESS', 1]);
    },
  );

  test('has the workspace after setup, also without snapshots', async ({ halo }) => {
    const { root } = newRepository({ '.gitignore': 'made\n' });
    const service = keyValueService({ prepare: [ask('set $(cat made)')], for: ['gates'] });
    const gates = [`test "$(${ask('get')})" = of-setup && ${ask('set evil')}`, `test "$(${ask('get')})" = of-setup`];
    const settings = [...service, 'setup=["echo of-setup > made"]', 'snapshot.mode="off"'];
    const run = await halo.run(root, [{ id: 'A' }], scripted(`date > now.txt; ${OK}`, gates, settings));
    expect([run.stopReason, preparations(halo, run.runId)]).toEqual(['SUCCESS', 1]);
  });
});

describe('a prepare that fails', () => {
  const failing = (more: Record<string, unknown> = {}) =>
    keyValueService({ prepare: ['cat seed.txt; test "$(cat seed.txt)" = first'], prepare_files: ['seed.txt'], for: ['gates'], ...more }); // prettier-ignore
  const command = '`cat seed.txt; test "$(cat seed.txt)" = first`';

  test('is a failure of the environment, unless the story changed its files', async ({ halo }) => {
    const broken = newRepository({ 'seed.txt': 'broken\n' });
    const settings = scripted(`date > now.txt; ${OK}`, ['true'], failing());
    const summary = `the service kv could not be prepared: ${command} exited 1`;
    expect((await halo.run(broken.root, [{ id: 'A' }], settings)).stories).toMatchObject([
      { progress: 'failed', summary, lastFailure: { class: 'environment', cause: 'service-failed' } },
    ]);
    const { root } = newRepository({ 'seed.txt': 'first\n' });
    const ofStory = await halo.run(root, [{ id: 'A' }], scripted(`echo second > seed.txt; ${OK}`, ['true'], failing()));
    expect(ofStory.stories).toMatchObject([{ progress: 'failed', summary, lastFailure: { class: 'gate' } }]);
    expect(halo.journal(ofStory.runId)).toContainEqual(
      expect.objectContaining({ type: 'service.failed', service: 'kv', why: summary, tail: 'second\n' }),
    );
  });

  test('fails its attempts alone, also where snapshots are off', skipFor(belowFull()), async ({ halo }) => {
    const { root } = newRepository({ 'seed.txt': 'broken\n' });
    const settings = scripted(`date > now.txt; ${OK}`, ['true', 'true'], [...failing(), 'snapshot.mode="off"']);
    const [first, second] = [
      await halo.run(root, [{ id: 'A' }], settings),
      await halo.run(root, [{ id: 'A' }], settings),
    ];
    const why = `the service kv could not be prepared: ${command} exited 1`;
    for (const { stories } of [first, second]) expect(stories).toMatchObject([{ progress: 'failed', summary: why }]);
  });

  test('is one whose service does not end cleanly, or ends before', async ({ halo, repository }) => {
    const settings = (prepare: string, more: Record<string, unknown> = {}) =>
      scripted(
        `date > now.txt; ${OK}`,
        ['true'],
        failing({ prepare: [prepare], prepare_files: ['README.md'], ...more }),
      );
    const early = await halo.run(repository.root, [{ id: 'A' }], settings(`${ask('die')}; sleep 3600`));
    expect(early.stories).toMatchObject([{ summary: 'the service kv ended by itself: exited 3' }]);
    const command = ['bash', '-c', "trap 'exit 7' TERM; python3 -m http.server 7000 --bind 127.0.0.1 & wait"];
    const unclean = await halo.run(repository.root, [{ id: 'A' }], settings('true', { command }));
    const why = 'the service kv could not be prepared: it exited 7 when it was asked to end';
    expect(unclean.stories).toMatchObject([{ summary: why, lastFailure: { cause: 'service-failed' } }]);
    expect((await new SnapshotFiles(halo.home).list()).filter(({ record }) => record.setup.includes('true'))).toEqual([]); // prettier-ignore
  });
});
