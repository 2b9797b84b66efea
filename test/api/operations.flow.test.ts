import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { ownerAccess } from '../support/halo/owner-access.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { openHttp } from '../../src/api/http/http-client.ts';
import { buildApp } from '../../src/api/http/http-server.ts';
import type { LocalOperations } from '../../src/api/local.ts';
import { ALL_OPERATIONS } from '../../src/api/operations.ts';
import type { CallOperation } from '../../src/api/operations/operation.ts';
import type { SubmitRequest } from '../../src/api/operations/schemas.ts';
import type { Operations } from '../../src/api/operations.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { OK, prdOf, remotelyScripted } from '../support/halo/halo.ts';
import { newRunId } from '../../src/lib/run-id.ts';
import { errorOf } from '../support/error-of.ts';
import { openScriptedHome, type ScriptedHome } from '../support/halo/scripted-home.ts';
import { asked, created, passed, succeeded } from '../support/journal.ts';
import { openRedisServer, type RedisServer } from '../support/redis/redis-server.ts';
import { registerWorker } from '../../src/store/process-registry.ts';
import { makeRepository, type TestRepository } from '../support/repository/repository.ts';

const TOKEN = 'a-token-of-the-test';
const RUN = '0tbq1aaaaaaaaaaa';
const OTHER = '0tbq2bbbbbbbbbbb';

let redis: RedisServer;
let home: ScriptedHome;
let local: LocalOperations;
let app: FastifyInstance;
let url: string;

beforeAll(async () => {
  redis = await openRedisServer();
});
afterAll(() => redis.close());
beforeEach(async () => {
  home = openScriptedHome(redis.url);
  local = home.operations;
  app = buildApp({ access: ownerAccess(checking(local.callRemotely()), TOKEN), hosts: ['127.0.0.1', 'localhost'] });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await app.close();
  await home.remove();
});

const WAYS: [string, () => Operations][] = [
  ['in this process', () => local],
  ['over HTTP', () => openHttp({ url, token: TOKEN })],
];

describe.each(WAYS)('operations %s', (name, open) => {
  it('submit creates one run per repository from the bytes of a PRD', async () => {
    const repositories = [makeRepository(), makeRepository()];
    try {
      const runs = (await open().submit(requestOf(repositories))).runs;
      expect(runs.map(({ repo }) => repo)).toEqual(repositories.map(({ root }) => root));
      const [first] = runs;
      const { state } = await local.getRun({ runId: first!.runId });
      expect(state).toMatchObject({ status: 'queued', stories: [{ id: 'Ä' }], batch: { id: first!.batch } });
      expect(state.prdIsHere).toBe(false);
    } finally {
      for (const repository of repositories) repository.remove();
    }
  });

  it('submit with a key creates its runs once, also if it is repeated the other way', async () => {
    const repository = makeRepository();
    try {
      const request = { ...requestOf([repository]), key: 'nightly', user: 'tess' };
      const [first] = (await open().submit(request)).runs;
      for (const [, other] of WAYS)
        expect((await other().submit(request)).runs).toMatchObject([{ runId: first!.runId }]);
      await expect(
        open()
          .submit({ ...request, set: ['agent=codex'] })
          .then(({ runs }) => runs),
      ).rejects.toMatchObject({ code: 'USAGE' });
    } finally {
      repository.remove();
    }
  });

  it('submitBatch lets a run depend on another', async () => {
    const repositories = [makeRepository(), makeRepository()];
    try {
      const { prd, repos, ...options } = requestOf(repositories);
      const members = ['b', 'a'].map((member, index) => ({
        name: member,
        repo: repos[index]!,
        prd,
        deps: member === 'b' ? ['a'] : [],
      }));
      const runs = (await open().submitBatch({ ...options, members })).runs;
      expect(runs.map(({ repo }) => repo)).toEqual([...repos].reverse());
      expect((await local.getRun({ runId: runs[1]!.runId })).state.needs).toMatchObject([
        { run: runs[0]!.runId, now: 'open' },
      ]);
    } finally {
      for (const repository of repositories) repository.remove();
    }
  });

  it('submit selects stories, and refuses one that the PRD does not have or that is not ready', async () => {
    const repository = makeRepository();
    try {
      const prd = prdOf([{ id: 'A' }, { id: 'B' }, { id: 'C', dependsOn: ['B'] }]);
      const request = { ...requestOf([repository]), prd };
      const [run] = (await open().submit({ ...request, stories: ['B'] })).runs;
      const { state, record } = await open().getRun({ runId: run!.runId });
      expect(state.stories.map(({ progress }) => progress)).toEqual(['skipped', 'pending', 'skipped']);
      expect(record['selected']).toEqual(['B']);
      await expect(
        open()
          .submit({ ...request, stories: ['X'] })
          .then(({ runs }) => runs),
      ).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
      await expect(
        open()
          .submit({ ...request, stories: ['C'] })
          .then(({ runs }) => runs),
      ).rejects.toMatchObject({
        code: 'PRD_INVALID',
        message: 'C depends on B, which is not done.',
      });
      expect((await open().listRuns()).runs).toHaveLength(1);
    } finally {
      repository.remove();
    }
  });

  it('validatePrd returns the stories of a PRD, or its errors, and stores nothing', async () => {
    const { bytes } = prdOf([{ id: 'Ä', title: '漢' }]);
    const prd = (await open().validatePrd({ prd: { path: 'prd.json', bytes } })).prd;
    expect(prd.stories).toMatchObject([{ id: 'Ä', title: '漢', status: 'pending' }]);
    const empty = { path: 'empty.json', bytes: new Uint8Array() };
    await expect(
      open()
        .validatePrd({ prd: empty })
        .then(({ prd }) => prd),
    ).rejects.toMatchObject({ code: 'PRD_INVALID' });
    await expect(
      open()
        .validatePrd({ prd: { path: 'prd.json', bytes }, as: 'none' })
        .then(({ prd }) => prd),
    ).rejects.toMatchObject({ code: 'USAGE' });
    expect((await open().listRuns()).runs).toEqual([]);
  });

  it('previewPrompt returns the prompt of a story, and creates no run', async () => {
    const repository = makeRepository();
    try {
      repository.write('rules.md', 'Plain names.');
      repository.commit('rules');
      const { prd } = requestOf([]);
      const set = [...requestOf([]).set, 'prompt.before="rules.md"', 'prompt.vision="vision.md"'];
      const preview = await open().previewPrompt({
        prd,
        repo: repository.root,
        story: undefined,
        profile: undefined,
        set,
      });
      expect(preview).toMatchObject({ story: 'Ä', agent: 'command', maxTokens: 0, fits: true, warnings: [] });
      expect(preview.text).toMatch(/^Plain names\.\n\nImplement one story of the project "Test"/);
      expect(preview.sections[0]).toEqual({ name: 'before', file: 'rules.md', tokens: 3 });
      expect(preview.problems).toEqual([expect.stringContaining('prompt.vision: vision.md is not a file')]);
      const other = { prd, repo: repository.root, story: 'B', profile: undefined, set };
      await expect(open().previewPrompt(other)).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
      const ungated = { ...other, story: 'Ä', set: set.filter((each) => !each.startsWith('gates=')) };
      expect((await open().previewPrompt(ungated)).warnings).toEqual([
        'No gates are configured: halo run --prd runs without gates, and other runs are refused.',
      ]);
      expect((await open().listRuns()).runs).toEqual([]);
    } finally {
      repository.remove();
    }
  });

  it('submitIssues without a configured forge says what to configure, and creates nothing', async () => {
    const repository = makeRepository();
    try {
      const request = {
        source: 'github:acme/shop',
        repo: repository.root,
        profile: undefined,
        set: [],
        allowDirty: false,
      };
      await expect(
        open()
          .submitIssues(request)
          .then(({ runs }) => runs),
      ).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: 'No token is configured for the forge github.',
      });
      expect((await open().listRuns()).runs).toEqual([]);
    } finally {
      repository.remove();
    }
  });

  it('a refused submit creates nothing', async () => {
    const empty = { ...requestOf([]), repos: ['/x'], prd: { path: 'p', bytes: new Uint8Array() } };
    await expect(
      open()
        .submit(empty)
        .then(({ runs }) => runs),
    ).rejects.toMatchObject({ code: 'PRD_INVALID' });
    expect((await open().listRuns()).runs).toEqual([]);
  });

  it('list returns runs newest first, and get finds one by a part of its id', async () => {
    await home.addRun(succeeded(RUN));
    await home.addRun(succeeded(OTHER));
    expect((await open().listRuns()).runs.map((run) => run.runId)).toEqual([OTHER, RUN]);
    expect(await open().getRun({ runId: '0tbq1' })).toEqual(await local.getRun({ runId: RUN }));
    expect((await open().getRun({ runId: RUN })).state).toMatchObject({ status: 'ended', stopReason: 'SUCCESS' });
  });

  it.each([
    ['2026-01-02T00:00:00+02:00', 1],
    ['2026-01-01T20:00:00-03:00', 1],
    ['2026-01-01T23:00:00Z', 1],
    ['2026-01-02T00:00:00+00:30', 0],
  ])('a list since %s has %i runs of 23:00 UTC of the day before', async (since, expected) => {
    const at = new Date('2026-01-01T23:00:00.000Z');
    home.setTime(at);
    await home.addRun([created(newRunId(at, randomBytes))]);
    for (const query of [{ since }, { since, repo: 'shop' }])
      expect((await open().listRuns(query)).runs).toHaveLength(expected);
    for (const query of [{ until: since }, { until: since, find: 'shop' }])
      expect((await open().listRuns(query)).runs).toHaveLength(since.endsWith('+00:30') ? 1 : 0);
  });

  it('follow returns the events after a seq', async () => {
    await home.addRun(succeeded(RUN));
    const all = await collect(await open().followEvents({ runId: RUN, after: 0, follow: false }));
    expect(all.map(({ event }) => event.type)).toEqual(succeeded(RUN).map(({ type }) => type));
    expect(await collect(await open().followEvents({ runId: RUN, after: 10, follow: false }))).toEqual(all.slice(10));
  });

  it('follow continues until the run ends', async () => {
    await home.addRun([created(RUN, 1), { type: 'run.started' }]);
    const seen: string[] = [];
    for await (const { event } of await open().followEvents({ runId: RUN, after: 0, follow: true })) {
      seen.push(event.type);
      if (event.type === 'run.started') await home.append(RUN, ...passed('US-001'));
      if (event.type === 'story.ended')
        await home.append(RUN, { type: 'run.ended', stopReason: 'SUCCESS', detail: '' });
    }
    expect(seen.at(-1)).toBe('run.ended');
    expect(seen).toHaveLength(2 + passed('US-001').length + 1);
  });

  it('follow stops when it is aborted', async () => {
    await home.addRun([created(RUN, 1)]);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { event } of await open().followEvents({ runId: RUN, after: 0, follow: true }, stop.signal)) {
      seen.push(event.type);
      stop.abort();
    }
    expect(seen).toEqual(['run.created']);
  });

  it('listEngines lists the engines of config.toml and whether their machines have joined', async () => {
    expect(await open().listEngines({})).toEqual({ engines: [] });
    const text =
      '[[engines]]\nname = "a"\naddress = "tcp://a:2376"\n\n[[engines]]\nname = "b"\naddress = "unix:///b"\nslots = 4\n';
    writeFileSync(join(home.host.home, 'config.toml'), text);
    expect(await open().listEngines({})).toEqual({
      engines: [
        { name: 'a', address: 'tcp://a:2376', slots: 2, labels: [], joined: false, workers: [] },
        { name: 'b', address: 'unix:///b', slots: 4, labels: [], joined: true, workers: [] },
      ],
    });
  });

  it('workers returns the running workers with their processes', async () => {
    expect((await open().listWorkers()).workers).toEqual([]);
    const worker = await registerWorker(home.host.home, 'any');
    const own = await registerWorker(home.host.home, 'own');
    try {
      const takes = { [worker.id]: 'any', [own.id]: 'own' };
      const found = (await open().listWorkers()).workers;
      expect(Object.fromEntries(found.map((each) => [each.id, each.takes]))).toEqual(takes);
      for (const each of found) expect(each.pid).toBe(process.pid);
    } finally {
      await worker.leave();
      await own.leave();
    }
    expect((await open().listWorkers()).workers).toEqual([]);
  });

  it('raw returns the output of all agents, or of one', async () => {
    await home.addRun([created(RUN, 2)]);
    const [one, two] = (await local.getRun({ runId: RUN })).state.stories;
    await home.writeRaw(RUN, one!.key, '{"ä":1}\n');
    await home.writeRaw(RUN, two!.key, '\u001b[0m\n');
    expect(await text(await open().followRaw({ runId: RUN, story: undefined, follow: false }))).toBe(
      '{"ä":1}\n\u001b[0m\n',
    );
    expect(await text(await open().followRaw({ runId: RUN, story: 'US-002', follow: false }))).toBe('\u001b[0m\n');
  });

  it('diff returns what a run or a story landed', async () => {
    await home.addLandedRun(RUN);
    for (const story of [undefined, 'US-001'])
      expect((await open().readDiff({ runId: RUN, story })).toString()).toContain(
        '+++ b/cart.txt\n@@ -0,0 +1 @@\n+new\n',
      );
    await expect(open().readDiff({ runId: RUN, story: 'ä/?' })).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
  });

  it('artifacts lists the files of attempts, and artifact reads one', async () => {
    await home.addRun(succeeded(RUN));
    const path = 'us-001-ab/1/gates/1.log';
    home.writeArtifact(RUN, path, 'a log \u001b[31m');
    expect((await open().listArtifacts({ runId: RUN })).artifacts).toMatchObject([{ path, bytes: 11 }]);
    expect((await open().readArtifact({ runId: RUN, path, whole: false })).toString()).toBe('a log \u001b[31m');
    expect((await open().readArtifact({ runId: RUN, path, last: 5, whole: false })).toString()).toBe('\u001b[31m');
    for (const wrong of ['us-001-ab/1/none', 'us-001-ab/1/a%2f/.../?x'])
      await expect(open().readArtifact({ runId: RUN, path: wrong, whole: false })).rejects.toMatchObject({
        code: 'ARTIFACT_UNREADABLE',
      });
  });

  it('logLines, searchLog and followLog read parts of a long log', async () => {
    await home.addRun(succeeded(RUN));
    const path = 'us-001-ab/1/gates/1.log';
    const lines = Array.from(
      { length: 30_000 },
      (_, at) => `line ${at}${at % 10_000 === 7 ? ' \u001b[31mERR\u001b[0mOR' : ''}`,
    );
    home.writeArtifact(RUN, path, `${lines.join('\n')}\n`);
    const page = await open().readLog({ runId: RUN, path, from: 29_998, lines: 500 });
    expect(page).toEqual({ total: 30_000, from: 29_998, lines: ['line 29998', 'line 29999'] });
    expect(await open().readLog({ runId: RUN, path, from: 40_000, lines: 1 })).toMatchObject({
      total: 30_000,
      lines: [],
    });
    expect(await open().searchLog({ runId: RUN, path, text: 'error' })).toEqual({
      count: 3,
      lines: [7, 10_007, 20_007],
    });
    const stop = new AbortController();
    const sizes: number[] = [];
    for await (const { lines: size } of await open().followLog({ runId: RUN, path, follow: true }, stop.signal)) {
      sizes.push(size);
      if (sizes.length === 2) stop.abort();
      else home.writeArtifact(RUN, path, `${lines.join('\n')}\none more`);
    }
    expect(sizes).toEqual([30_000, 30_001]);
    for (const wrong of ['us-001-ab/1/none', 'us-001-ab/1/a%2f/.../?x'])
      await expect(open().readLog({ runId: RUN, path: wrong, from: 0, lines: 1 })).rejects.toMatchObject({
        code: 'ARTIFACT_UNREADABLE',
      });
  });

  it('pause, resume, cancel and retry change runs and stories', async () => {
    await home.addRunningRun(RUN, 2);
    const by = name === 'over HTTP' ? 'api-token' : (expect.stringContaining('@') as string);
    expect(await open().pause({ runId: RUN, now: true })).toMatchObject({ changed: true, stories: ['US-001'] });
    expect((await open().getRun({ runId: RUN })).state.paused).toMatchObject({ now: true, by });
    expect(await open().pause({ runId: RUN, now: false })).toMatchObject({ changed: false });
    expect(await open().resume({ runId: RUN })).toMatchObject({ changed: true, says: 'Resumed.' });
    expect(await open().cancel({ runId: RUN, story: 'US-002' })).toMatchObject({ changed: true, stories: ['US-002'] });
    expect(await open().retry({ runId: RUN, story: 'US-002' })).toMatchObject({ changed: true, stories: ['US-002'] });
    const prd = prdOf([{ id: 'US-001' }, { id: 'US-003' }]);
    expect((await open().resume({ runId: RUN, replan: { prd } })).stories).toContain('US-003');
    expect((await open().getRun({ runId: RUN })).state.stories.map(({ id }) => id)).toEqual([
      'US-001',
      'US-003',
      'US-002',
    ]);
    expect(await open().cancel({ runId: RUN })).toMatchObject({ changed: true });
    expect((await open().getRun({ runId: RUN })).state).toMatchObject({ status: 'ended', stopReason: 'USER_ABORT' });
  });

  it('resume and retry warn of commits that the run does not see', async () => {
    const repository = makeRepository();
    try {
      const [run] = (await open().submit(requestOf([repository]))).runs;
      const { runId } = run!;
      await open().pause({ runId, now: true });
      expect(await open().resume({ runId })).not.toHaveProperty('warnings');
      const base = repository.git('rev-parse', '--short=7', 'HEAD');
      repository.write('repair.txt', '');
      repository.commit('repair');
      await open().pause({ runId, now: true });
      const warning = `The run stays on ${base}; main has 1 newer commit, which it does not see. Start a new run to use it.`;
      expect((await open().resume({ runId })).warnings).toEqual([warning]);
      await open().cancel({ runId });
      expect((await open().retry({ runId })).warnings).toEqual([warning]);
      repository.git('branch', `halo/${runId}`);
      await open().cancel({ runId });
      expect(await open().retry({ runId })).not.toHaveProperty('warnings');
    } finally {
      repository.remove();
    }
  });

  it('retry changes other settings, and asks for a confirmation of other gates', async () => {
    await home.addRunningRun(RUN, 1, { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' });
    const gates = { set: ['gates=["npm test"]'] };
    await expect(open().retry({ runId: RUN, ...gates })).rejects.toMatchObject({ code: 'USAGE' });
    expect(await open().retry({ runId: RUN, set: ['retry.attempts=5'] })).toMatchObject({ changed: true });
    expect((await open().getRun({ runId: RUN })).state).toMatchObject({ maxAttempts: 5, status: 'queued' });
  });

  it('answer starts a story that asks again, once', async () => {
    await home.addRunningRun(RUN, 2, ...asked('US-001').slice(-2));
    await expect(open().answer({ runId: RUN, story: 'US-001', text: ' \n' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(open().answer({ runId: RUN, story: 'US-001', text: 'x'.repeat(8001) })).rejects.toMatchObject({
      code: 'USAGE',
    });
    await expect(open().answer({ runId: RUN, story: 'US-002', text: 'x' })).rejects.toMatchObject({
      code: 'CONTROL_REFUSED',
      message: 'Story US-002 has not started: it asks no question.',
    });
    const answered = await open().answer({ runId: RUN, story: 'US-001', text: ' Euro,\r\nnot dollars.\u001b[2J ' });
    expect(answered).toMatchObject({ changed: true, stories: ['US-001'] });
    const { state } = await open().getRun({ runId: RUN });
    const text = 'Euro,\nnot dollars.<U+001B>[2J';
    const by = name === 'over HTTP' ? 'api-token' : (expect.stringContaining('@') as string);
    expect(state).toMatchObject({ status: 'queued', stories: [{ progress: 'pending' }, {}] });
    expect(state.stories[0]!.answered).toMatchObject([{ attempt: 1, question: 'Which currency?', text, by }]);
    // A client that got no response sends the same again.
    expect(await open().answer({ runId: RUN, story: 'US-001', text: 'Euro,\nnot dollars.\u001b[2J' })).toMatchObject({
      changed: false,
    });
    await expect(open().answer({ runId: RUN, story: 'US-001', text: 'Dollars.' })).rejects.toMatchObject({
      code: 'CONTROL_REFUSED',
      message: `Story US-001 was already answered by ${state.stories[0]!.answered![0]!.by} at ${state.stories[0]!.answered![0]!.at}.`,
    });
  });

  it('tell sends a message to the story that an agent works on, once until it is seen', async () => {
    await home.addRunningRun(RUN, 2);
    const story = 'US-001';
    const ref = { story, attempt: 1 };
    await expect(open().tell({ runId: RUN, story, text: ' \n' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(open().tell({ runId: RUN, story, text: 'x'.repeat(8001) })).rejects.toMatchObject({ code: 'USAGE' });
    await home.append(RUN, { type: 'phase.started', ...ref, phase: 'agent' });
    await home.append(RUN, { type: 'agent.listens', ...ref });
    const sent = await open().tell({ runId: RUN, text: ' Euro,\r\nnot dollars.\u001b[2J ' });
    expect(sent).toMatchObject({ changed: true, stories: [story], route: 'live' });
    const by = name === 'over HTTP' ? 'api-token' : (expect.stringContaining('@') as string);
    const text = 'Euro,\nnot dollars.<U+001B>[2J';
    const { state } = await open().getRun({ runId: RUN });
    expect(state.stories[0]!.messages).toMatchObject([{ id: sent.message, text, by }]);
    // A client that got no response sends the same again.
    const repeated = await open().tell({ runId: RUN, story, text: 'Euro,\nnot dollars.\u001b[2J' });
    expect(repeated).toMatchObject({ changed: false, message: sent.message });
    await home.append(RUN, { type: 'message.delivered', ...ref, ids: [sent.message], how: 'live' });
    expect(await open().tell({ runId: RUN, story, text })).toMatchObject({ changed: true });
    expect(await open().tell({ runId: RUN, story: 'US-002', text })).toMatchObject({ changed: true, route: 'next' });
    await home.append(RUN, { type: 'story.cancelled', ...ref, by: 'ann' });
    await expect(open().tell({ runId: RUN, story, text })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
  });

  it('answer reopens no cancelled run', async () => {
    const cancelled: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by ann' };
    await home.addRunningRun(RUN, 2, ...asked('US-001').slice(-2, -1), cancelled);
    await expect(open().answer({ runId: RUN, story: 'US-001', text: 'Euro.' })).rejects.toMatchObject({
      code: 'CONTROL_REFUSED',
      message: `Run ${RUN} was cancelled.`,
    });
  });

  it('approve lands the commit of a story, once', async () => {
    const repository = await home.addHeldRun(RUN);
    const approved = await open().approve({ runId: RUN, story: 'US-001' });
    const commit = repository.git('rev-parse', `halo/${RUN}`);
    expect(approved).toMatchObject({ story: 'US-001', changed: true, landed: true, commit });
    expect(await open().approve({ runId: RUN, story: 'US-001' })).toMatchObject({
      changed: false,
      commit,
    });
  });

  it('reject drops the commit of a story', async () => {
    const repository = await home.addHeldRun(RUN);
    expect(await open().reject({ runId: RUN, story: 'US-001', reason: 'no' })).toMatchObject({
      story: 'US-001',
      landed: false,
    });
    const { state } = await open().getRun({ runId: RUN });
    expect(state.stories[0]).toMatchObject({
      stopReason: 'APPROVAL_DENIED',
      summary: expect.stringContaining('no') as string,
    });
    await expect(open().approve({ runId: RUN, story: 'US-001' })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
  });

  it('land refuses a rejected run, and fast-forwards the branch of an approved one', async () => {
    const repository = await home.addLandedRun(RUN);
    const tip = repository.git('rev-parse', `halo/${RUN}`);
    expect(await open().reject({ runId: RUN, reason: 'too large' })).toEqual({ runId: RUN, changed: true, tip });
    await expect(open().land({ runId: RUN })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    expect(await open().approve({ runId: RUN })).toEqual({ runId: RUN, changed: true, tip });
    expect(await open().approve({ runId: RUN })).toEqual({ runId: RUN, changed: false, tip });
    expect(await open().land({ runId: RUN })).toMatchObject({ branch: 'main', to: tip });
    const by = name === 'over HTTP' ? 'api-token' : (expect.stringContaining('@') as string);
    const { entries } = await open().reportAudit({ type: 'run.landed', limit: 1 });
    expect(entries).toMatchObject([{ commit: tip, by }]);
    expect(repository.git('rev-parse', 'main')).toBe(tip);
  });

  it('replay needs an attempt with a cassette', async () => {
    await home.addRun(succeeded(RUN));
    await expect(open().replay({ runId: RUN, story: 'no' })).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
    await expect(open().replay({ runId: RUN, story: 'US-001' })).rejects.toMatchObject({ code: 'CASSETTE_MISSING' });
  });

  it('resetBreaker closes a breaker that breakers lists', async () => {
    await home.addRun([created(RUN, 1), { type: 'run.started' }, { type: 'breaker.opened', reason: 'three failures' }]);
    expect((await open().listBreakers()).breakers).toEqual([
      { key: `run:${RUN}`, status: 'open', reason: 'three failures', until: null },
    ]);
    expect((await open().resetBreaker({ key: RUN })).key).toBe(`run:${RUN}`);
    expect((await open().listBreakers()).breakers).toEqual([]);
    await expect(
      open()
        .resetBreaker({ key: RUN })
        .then(({ key }) => key),
    ).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('prune shows what limits would remove, and only the user of the machine sets them', async () => {
    await home.addRun([
      created(RUN, 1),
      { type: 'run.started' },
      { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'stopped' },
    ]);
    home.writeArtifact(RUN, 'us-001/1/a.log', 'text');
    const limits = { runs: 0, journals: '36500d', maxSize: '1t' };
    const planned = { removed: [{ runId: RUN, what: 'artifacts' }], failed: [], hasLimits: true };
    expect(await open().prune({ ...limits, dryRun: true })).toMatchObject(planned);
    expect(await open().prune({})).toMatchObject({ removed: [], hasLimits: false });
    if (name === 'in this process') expect(await open().prune(limits)).toMatchObject(planned);
    else await expect(open().prune(limits)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('errors keep their code, message and hint', async () => {
    await home.addRun([created(RUN, 1)]);
    const expected = await errorOf(() => local.getRun({ runId: 'no/such' }));
    expect(expected).toMatchObject({ code: 'RUN_NOT_FOUND', hint: expect.stringContaining('halo ls') as string });
    expect(await errorOf(() => open().getRun({ runId: 'no/such' }))).toEqual(expected);
    expect(await errorOf(() => open().land({ runId: RUN }))).toEqual(await errorOf(() => local.land({ runId: RUN })));
    expect(await errorOf(() => open().cancel({ runId: 'no/such' }))).toEqual(expected);
    expect(
      await errorOf(async () => collect(await open().followEvents({ runId: 'no/such', after: 0, follow: true }))),
    ).toEqual(expected);
    expect(
      await errorOf(async () => collect(await open().followRaw({ runId: RUN, story: 'x', follow: false }))),
    ).toMatchObject({
      code: 'STORY_NOT_FOUND',
    });
  });
});

describe('the table of operations', () => {
  it('has unique names and routes', () => {
    expect(new Set(ALL_OPERATIONS.map(({ name }) => name)).size).toBe(ALL_OPERATIONS.length);
    expect(new Set(ALL_OPERATIONS.map(({ method, path }) => `${method} ${path}`)).size).toBe(ALL_OPERATIONS.length);
  });

  it('has only POST operations that change state', () => {
    const changing = ALL_OPERATIONS.filter(
      ({ access, method, name }) =>
        access !== 'read' &&
        !(
          method === 'GET' &&
          [
            ...'listUsers readAccessLog listEndpoints listDeliveries'.split(' '),
            'readSettings',
            'readDoctor',
            'listEngines',
            'listModels',
          ].includes(name)
        ),
    );
    expect(changing.length).toBeGreaterThan(5);
    expect(changing.filter(({ method }) => method !== 'POST')).toEqual([]);
  });

  it('has examples that its input schemas accept', () => {
    for (const { name, input, example } of ALL_OPERATIONS) {
      const query = Object.fromEntries(Object.entries(example ?? {}).map(([key, value]) => [key, String(value)]));
      const accepted = [example, query].some((each) => input?.(z).safeParse(each ?? {}).success !== false);
      expect([name, accepted]).toEqual([name, true]);
    }
  });
});

/** Checks each result against the output schema of its operation. */
function checking(call: CallOperation): CallOperation {
  return async (operation, input, signal) => {
    const result = await call(operation, input, signal);
    if (operation.output.kind === 'json') operation.output.schema(z).parse(result);
    return result;
  };
}

function requestOf(repositories: readonly TestRepository[]): SubmitRequest {
  return {
    prd: { ...prdOf([{ id: 'Ä', title: '漢' }]), path: '/none/prd.json' },
    repos: repositories.map(({ root }) => root),
    profile: undefined,
    set: remotelyScripted(OK),
    allowDirty: false,
  };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function text(frames: AsyncIterable<{ raw: string }>): Promise<string> {
  return Buffer.concat((await collect(frames)).map(({ raw }) => Buffer.from(raw, 'base64'))).toString();
}
