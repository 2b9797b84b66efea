import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLocal, type LocalOperations } from '../../src/api/local.ts';
import { startWorker } from '../../src/worker/main.ts';
import { hostOf } from '../support/halo/host.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { addProbeResults } from '../support/suite/probed-engine.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import type { TestRepository } from '../support/repository/repository.ts';
import { tempDir } from '../support/temp-dir.ts';

type Json = Record<string, unknown>;

/** What the first halo wrote of a run at its creation, of its repository and of a story; the rest came later. */
const OLD_EVENT = ['v', 'seq', 'at', 'type', 'runId', 'repo', 'prdPath', 'prd', 'attempts'];
const OLD_STORY = ['id', 'title', 'description', 'acceptance', 'priority', 'status', 'notes', 'extra'];
const OLD_CONFIG = ['agent', 'agentCommand', 'setup', 'gates', 'image', 'env', 'model', 'limits', 'git', 'workspace'];

interface OldRun {
  runId: string;
  repository: TestRepository;
}

/** A home whose runs were written by other versions of halo, before a worker of this version began. */
async function openOldHome() {
  const home = tempDir('halo-home');
  addProbeResults(home);
  const operations = openLocal({ host: hostOf(home) });
  const pathOf = (runId: string, file: string) => join(home, 'runs', runId, file);
  const journalOf = (runId: string) => readFileSync(pathOf(runId, 'journal.jsonl'), 'utf8');
  const write = (runId: string, ...events: Json[]) =>
    appendFileSync(pathOf(runId, 'journal.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''));

  async function submit(ids: string[]): Promise<OldRun> {
    const repository = newRepository();
    const set = scripted(`date +%N >> file; ${OK}`, ['test -s file']);
    const request = { prd: prdOf(ids.map((id) => ({ id }))), repos: [repository.root], profile: undefined };
    const [submitted] = await operations.submit({ ...request, set, allowDirty: false });
    return { runId: submitted!.runId, repository };
  }

  function keepSettings(runId: string, keys: string[]) {
    const path = pathOf(runId, 'run.json');
    const record = JSON.parse(readFileSync(path, 'utf8')) as { config: Json };
    writeFileSync(path, JSON.stringify({ ...record, config: pick(record.config, keys) }));
  }

  /** In the middle of its first story. */
  function makeOld(runId: string) {
    const [created = ''] = journalOf(runId).split('\n');
    const event = pick(JSON.parse(created) as Json, OLD_EVENT);
    const prd = event.prd as Json & { stories: Json[] };
    event.prd = { ...prd, stories: prd.stories.map((story) => pick(story, OLD_STORY)) };
    writeFileSync(pathOf(runId, 'journal.jsonl'), `${JSON.stringify(event)}\n`);
    const { base } = event.repo as { base: string };
    const at = new Date().toISOString();
    write(
      runId,
      { v: 1, seq: 2, at, type: 'run.started' },
      { v: 1, seq: 3, at, type: 'story.started', story: 'A', attempt: 1, epoch: 1, base },
      { v: 1, seq: 4, at, type: 'phase.started', story: 'A', attempt: 1, phase: 'agent' },
    );
    rmSync(pathOf(runId, 'checkpoints'), { recursive: true });
    keepSettings(runId, OLD_CONFIG);
  }

  const submitted = await submit(['A']);
  keepSettings(submitted.runId, OLD_CONFIG);
  const begun = await submit(['A', 'B']);
  makeOld(begun.runId);
  const lost = await submit(['A']);
  keepSettings(lost.runId, []);
  const newer = [await submit(['A']), await submit(['A'])] as const;
  for (const [n, event] of [
    { v: 1, type: 'run.teleported' },
    { v: 2, type: 'run.started' },
  ].entries())
    write(newer[n]!.runId, { seq: 2, at: new Date().toISOString(), ...event });
  const before = newer.map(({ runId }) => journalOf(runId));

  const worker = await startWorker({ host: hostOf(home), concurrency: 2, log: pino({ level: 'silent' }) });
  for (const { runId } of [submitted, begun, lost])
    for await (const { type } of operations.follow(runId, { after: 0, follow: true })) if (type === 'run.ended') break;
  await worker.close();
  return { operations, journalOf, runs: { submitted, begun, lost, newer }, before };
}

let operations: LocalOperations;
let old: Awaited<ReturnType<typeof openOldHome>>;
beforeAll(async () => {
  old = await openOldHome();
  operations = old.operations;
});
afterAll(() => operations.close());

describe('hazard 38: a halo of another version wrote the run', () => {
  it('an older one: the run is executed, landed and shown', async () => {
    const { runId } = old.runs.submitted;
    expect((await operations.get(runId)).state).toMatchObject({ stopReason: 'SUCCESS' });
    expect((await operations.diff(runId, undefined)).toString()).toContain('+++ b/file');
    expect(await operations.land(runId)).toMatchObject({ branch: 'main' });
  });

  it('an older one, stopped in the middle of a story: the run continues, and ends', async () => {
    const { runId, repository } = old.runs.begun;
    const { state } = await operations.get(runId);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', epoch: 3 });
    expect(state.stories.map(({ progress, attempts }) => [progress, attempts])).toEqual([
      ['passed', 1],
      ['passed', 1],
    ]);
    expect(repository.git('log', '--format=%s', `main..halo/${runId}`).split('\n')).toHaveLength(2);
  });

  it.each([
    [0, 'an event of a kind', /event 2 is "run\.teleported", which this version of halo does not support/],
    [1, 'an event of a version', /event 2 has version 2, but this version of halo supports 1/],
  ])(
    'a newer one, whose run %i has %s that this one does not know: refused with a sentence, and unchanged',
    async (nth, _what, says) => {
      const { runId } = old.runs.newer[nth]!;
      await expect(operations.get(runId)).rejects.toMatchObject({
        code: 'RUN_UNREADABLE',
        message: expect.stringMatching(says) as string,
        hint: expect.stringContaining('another version of halo') as string,
      });
      expect(old.journalOf(runId)).toBe(old.before[nth]);
      expect((await operations.list()).map((each) => each.runId)).toContain(old.runs.begun.runId);
    },
  );
});

it('a run that has lost its settings ends with the reason, and no unchecked commit lands', async () => {
  const { runId, repository } = old.runs.lost;
  const { state } = await operations.get(runId);
  expect(state).toMatchObject({ stopReason: 'INFRASTRUCTURE', tip: repository.git('rev-parse', 'main') });
  expect(state.detail).toContain('the settings of the run are gone');
  expect(repository.git('branch', '--list', 'halo/*')).toBe('');
});

function pick(from: Json, keys: string[]): Json {
  return Object.fromEntries(Object.entries(from).filter(([key]) => keys.includes(key)));
}
