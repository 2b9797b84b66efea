import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLocal } from '../../src/api/local.ts';
import type { Operations } from '../../src/api/operations.ts';
import { startWorker } from '../../src/worker/main.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import type { TestRepository } from '../support/repository/repository.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hostOf } from '../support/halo/host.ts';
import { newRepository } from '../support/repository/new-repository.ts';

type Json = Record<string, unknown>;

/** What the first halo wrote of a run at its creation, of its repository and of a story; the rest came later. */
const OLD_EVENT = ['v', 'seq', 'at', 'type', 'runId', 'repo', 'prdPath', 'prd', 'attempts'];
const OLD_STORY = ['id', 'title', 'description', 'acceptance', 'priority', 'status', 'notes', 'extra'];
const OLD_CONFIG = ['agent', 'agentCommand', 'setup', 'gates', 'image', 'env', 'model', 'limits', 'git', 'workspace'];

describe('hazard 38: a halo of another version wrote the run', () => {
  let home: string;
  let repository: TestRepository;
  let operations: Operations;

  beforeEach(() => {
    home = tempDir('halo-home');
    repository = newRepository();
    operations = openLocal({ host: hostOf(home) });
  });
  afterEach(async () => {
    await operations.close();
  });

  const submit = async () => {
    const set = scripted(`date +%N >> file; ${OK}`);
    const prd = prdOf([{ id: 'A' }, { id: 'B' }]);
    const repos = [repository.root];
    const [submitted] = await operations.submit({ prd, repos, profile: undefined, set, allowDirty: false });
    return submitted!.runId;
  };
  const journalOf = (runId: string) => join(home, 'runs', runId, 'journal.jsonl');
  const write = (runId: string, ...events: Json[]) =>
    appendFileSync(journalOf(runId), events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  const workUntilEnd = async (runId: string) => {
    const worker = await startWorker({ host: hostOf(home), concurrency: 2, log: pino({ level: 'silent' }) });
    try {
      for await (const { type } of operations.follow(runId, { after: 0, follow: true }))
        if (type === 'run.ended') break;
    } finally {
      await worker.close();
    }
  };

  it('an older one, stopped in the middle of a story: the run continues, and ends', async () => {
    const runId = await submit();
    const [created = ''] = readFileSync(journalOf(runId), 'utf8').split('\n');
    const event = pick(JSON.parse(created) as Json, OLD_EVENT);
    const prd = event.prd as Json & { stories: Json[] };
    event.prd = { ...prd, stories: prd.stories.map((story) => pick(story, OLD_STORY)) };
    writeFileSync(journalOf(runId), `${JSON.stringify(event)}\n`);
    const { base } = event.repo as { base: string };
    const at = new Date().toISOString();
    write(
      runId,
      { v: 1, seq: 2, at, type: 'run.started' },
      { v: 1, seq: 3, at, type: 'story.started', story: 'A', attempt: 1, epoch: 1, base },
      { v: 1, seq: 4, at, type: 'phase.started', story: 'A', attempt: 1, phase: 'agent' },
    );
    rmSync(join(home, 'runs', runId, 'checkpoints'), { recursive: true });
    const path = join(home, 'runs', runId, 'run.json');
    const record = JSON.parse(readFileSync(path, 'utf8')) as { config: Json };
    writeFileSync(path, JSON.stringify({ ...record, config: pick(record.config, OLD_CONFIG) }));

    await workUntilEnd(runId);
    const { state } = await operations.get(runId);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', epoch: 3 });
    expect(state.stories.map(({ progress, attempts }) => [progress, attempts])).toEqual([
      ['passed', 1],
      ['passed', 1],
    ]);
    expect(repository.git('log', '--format=%s', `main..halo/${runId}`).split('\n')).toHaveLength(2);
  });

  it.each<[string, Json, RegExp]>([
    [
      'an event of a kind',
      { v: 1, type: 'run.teleported' },
      /event 2 is "run\.teleported", which this version of halo does not support/,
    ],
    [
      'an event of a version',
      { v: 2, type: 'run.started' },
      /event 2 has version 2, but this version of halo supports 1/,
    ],
  ])(
    'a newer one, with %s that this one does not know: refused with a sentence, and unchanged',
    async (_what, event, says) => {
      const [newer, other] = [await submit(), await submit()];
      write(newer, { seq: 2, at: new Date().toISOString(), ...event });
      const before = readFileSync(journalOf(newer), 'utf8');
      await workUntilEnd(other);
      await expect(operations.get(newer)).rejects.toMatchObject({
        code: 'RUN_UNREADABLE',
        message: expect.stringMatching(says) as string,
        hint: expect.stringContaining('another version of halo') as string,
      });
      expect(readFileSync(journalOf(newer), 'utf8')).toBe(before);
      expect((await operations.list()).map(({ runId }) => runId)).toContain(other);
    },
  );
});

function pick(from: Json, keys: string[]): Json {
  return Object.fromEntries(Object.entries(from).filter(([key]) => keys.includes(key)));
}
