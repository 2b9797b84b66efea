import Docker from 'dockerode';
import { describe, expect } from 'vitest';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import { PATIENCE } from '../../support/patience.ts';
import { ask, keyValueService } from './key-value-service.ts';

const STORY = [{ id: 'A' }];

describe('services', () => {
  test('are beside the agent and each gate, under all names, with data of their own', async ({ halo, repository }) => {
    const agent = `(${ask('set agent')}; ${ask('get', 'localhost')}; ${ask('get', 'store')}) > seen.txt; ${OK}`;
    const state = await halo.run(
      repository.root,
      STORY,
      scripted(
        agent,
        [`test "$(${ask('get')})" = nothing && ${ask('set gate')}`, `test "$(${ask('get')})" = nothing`],
        keyValueService({ aliases: ['store'] }),
      ),
    );
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ services: [{ name: 'kv' }] }] });
    const { key } = state.stories[0]!;
    expect(halo.readFile(state.runId, `artifacts/${key}/1/prompt.md`)).toContain('kv (halo-sandbox) at kv:7000');
    expect(repository.git('show', `halo/${state.runId}:seen.txt`)).toBe('agent\nagent\nagent');
    const events = halo.journal(state.runId).filter(({ type }) => type === 'services.ready');
    expect(events).toMatchObject([{ phase: 'agent' }, { phase: 'gates' }, { phase: 'gates' }]);
    expect(halo.readFile(state.runId, `artifacts/${key}/1/services/clean-1-kv.log`)).toBe('it starts\n');
  });

  test('are only for those that they are for', async ({ halo, repository }) => {
    const { stopReason } = await halo.run(
      repository.root,
      STORY,
      scripted(`! ${ask('get')} && date +%N > now.txt; ${OK}`, [ask('get')], keyValueService({ for: ['gates'] })),
    );
    expect(stopReason).toBe('SUCCESS');
  });
});

test('the data of a gate is removed while the next one runs', async ({ halo, repository }) => {
  const runId = await halo.submit(
    repository.root,
    STORY,
    scripted(`date +%N > now.txt; ${OK}`, [ask('set gate'), HOLD], keyValueService({ for: ['gates'] })),
  );
  const data = async () => {
    const { Volumes } = await new Docker().listVolumes({
      filters: JSON.stringify({ label: [`dev.halo.run=${runId}`] }),
    });
    return Volumes.flatMap(({ Name }) => /clean-\d-kv-data$/.exec(Name) ?? []);
  };
  const began = () => halo.journal(runId).filter(({ type }) => type === 'gate.started').length;
  await expect.poll(began, PATIENCE).toBe(2);
  await expect.poll(data, PATIENCE).toEqual(['clean-2-kv-data']);
  await release(runId);
  expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
});

describe('a service that its command stops', () => {
  test('does not hide that a gate failed', async ({ halo, repository }) => {
    const { runId, stories } = await halo.run(
      repository.root,
      STORY,
      scripted(`date +%N > now.txt; ${OK}`, [`${ask('stop')}; sleep 1; exit 7`], keyValueService()),
    );
    expect(stories).toMatchObject([{ progress: 'failed', lastFailure: { class: 'gate' } }]);
    expect(halo.journal(runId)).toContainEqual(
      expect.objectContaining({
        type: 'service.failed',
        why: 'the command has stopped the service kv, which exited 0',
      }),
    );
  });

  test('does not fail a gate that passed', async ({ halo, repository }) => {
    const { stopReason } = await halo.run(
      repository.root,
      STORY,
      scripted(`date +%N > now.txt; ${OK}`, [`! ${ask('stop')}`], keyValueService()),
    );
    expect(stopReason).toBe('SUCCESS');
  });
});

describe('a service that fails', () => {
  const FAILED = { progress: 'failed', lastFailure: { class: 'environment', cause: 'service-failed' } };

  test('is a failure of the environment, with the end of its log', async ({ halo, repository }) => {
    const { runId, stories } = await halo.run(
      repository.root,
      STORY,
      scripted(`date +%N > now.txt; ${OK}`, [`${ask('die')}; false`], keyValueService()),
    );
    expect(stories).toMatchObject([{ ...FAILED, summary: 'the service kv ended by itself: exited 3' }]);
    expect(halo.journal(runId)).toContainEqual(
      expect.objectContaining({
        type: 'service.failed',
        service: 'kv',
        log: 'services/clean-1-kv.log',
        tail: 'it starts\nit was asked to\n',
      }),
    );
  });

  test('says how its check failed', async ({ halo, repository }) => {
    const ready = `echo not yet; test -e /workspace/checked && ${ask('die', '127.0.0.1')}; touch /workspace/checked; exit 3`;
    const service = keyValueService({ for: ['gates'], ready });
    const { runId } = await halo.run(repository.root, STORY, scripted(`date +%N > now.txt; ${OK}`, ['true'], service));
    expect(halo.journal(runId)).toContainEqual(
      expect.objectContaining({
        type: 'service.failed',
        tail: 'it starts\nthe ready check exited 3: not yet\nit was asked to\n',
      }),
    );
  });

  test('does not replace the question of an agent', async ({ halo, repository }) => {
    const question = `echo '{"status":"needs_human","summary":"Which color?"}'`;
    const { stories } = await halo.run(
      repository.root,
      STORY,
      scripted(`${ask('die')}; sleep 1; ${question}`, ['true'], keyValueService()),
    );
    expect(stories).toMatchObject([{ progress: 'needs_human', summary: 'Which color?' }]);
  });

  test('with data in memory, but no folder for it, says so', async ({ halo, repository }) => {
    const state = await halo.run(
      repository.root,
      STORY,
      scripted(`date +%N > now.txt; ${OK}`, ['true'], keyValueService({ data: 'tmpfs' })),
    );
    expect(JSON.stringify(state)).toContain(
      'The image halo-sandbox of services.kv has no VOLUME that could be in memory.',
    );
  });

  test('ends the command that uses it', async ({ halo, repository }) => {
    const { stories } = await halo.run(
      repository.root,
      STORY,
      scripted(`date +%N > now.txt; ${OK}`, [`${ask('die')}; sleep 3600`], keyValueService()),
    );
    expect(stories).toMatchObject([FAILED]);
  });
});
