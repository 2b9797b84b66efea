import { JSON_EXAMPLE, MARKDOWN_EXAMPLE } from '../../src/core/prd/prd-examples.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HaloError } from '../../src/core/failure/errors.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { ToolRunner } from '../../src/mcp/tool-runner.ts';
import { INBOX_KINDS } from '../../src/view/inbox.ts';
import * as z from 'zod';
import { TOOLS } from '../../src/mcp/tools/all-tools.ts';
import { openBreakerStore } from '../../src/store/breaker-files.ts';
import { openScriptedHome, type ScriptedHome } from '../support/halo/scripted-home.ts';
import { attempted, created, passed, succeeded } from '../support/journal.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const ENDED: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };

let home: ScriptedHome;
let runner: ToolRunner;

beforeEach(() => {
  home = openScriptedHome();
  runner = new ToolRunner({ operations: home.operations.restrictedFor({ by: 'tester by MCP' }) });
});
afterEach(() => home.remove());

/** Calls a tool as the server does, after its input schema. */
async function call(name: string, input: object = {}, signal = new AbortController().signal) {
  const tool = TOOLS.find((each) => each.name === name)!;
  const result = await runner.call(tool, tool.input.parse(input), signal);
  return { ...result, value: result.structuredContent as Record<string, never> };
}

it('halo_inbox lists what waits for a person, with the tool that decides', async () => {
  const asks = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'Which currency?' } as const;
  const usage = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
  const [start] = attempted('US-001');
  await home.addRun([
    created(RUN, 1),
    { type: 'run.started' },
    start!,
    { type: 'story.ended', story: 'US-001', attempt: 1, ...asks, usage },
    { type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: '' },
  ]);
  const tool = { name: 'halo_answer', arguments: { runId: RUN, story: 'US-001' } };
  const entry = { kind: 'answer', runId: RUN, story: 'US-001', tool };
  expect((await call('halo_inbox')).value).toMatchObject({ entries: [entry], omitted: 0 });
  const { output } = TOOLS.find(({ name }) => name === 'halo_inbox')!;
  expect(JSON.stringify(z.toJSONSchema(output)), 'its words').toContain(JSON.stringify(INBOX_KINDS));
});

it('halo_inbox lists breakers of repositories and providers, as halo inbox does', async () => {
  const breaker = { status: 'open', signs: [], reason: 'no answer' } as const;
  await openBreakerStore(home.host.home).update('provider:api.test', () => ({ breaker, result: undefined }));
  const entry = { kind: 'breaker', command: 'halo breaker reset provider:api.test' };
  expect((await call('halo_inbox')).value).toMatchObject({ entries: [entry], omitted: 0 });
});

describe('halo_wait', () => {
  it('returns after the given time with the state of the run', async () => {
    await home.addRun([created(RUN, 1), { type: 'run.started' }]);
    const { value } = await call('halo_wait', { runId: RUN, seconds: 1 });
    expect(value).toMatchObject({ reason: 'timeout', status: 'running', seq: 2 });
  });

  it('returns as soon as a story ends', async () => {
    await home.addRun([created(RUN, 2), { type: 'run.started' }]);
    const waiting = call('halo_wait', { runId: RUN, seconds: 50 });
    await home.append(RUN, ...passed('US-001'));
    expect((await waiting).value).toMatchObject({ reason: 'changed', counts: { passed: 1, pending: 1 } });
  });

  it('misses nothing that happened after the event that the caller names', async () => {
    await home.addRun([created(RUN, 1), { type: 'run.started' }, ...passed('US-001'), ENDED]);
    expect((await call('halo_wait', { runId: RUN, after: 2, seconds: 50 })).value).toMatchObject({ reason: 'ended' });
    const { value } = await call('halo_wait', { runId: RUN, seconds: 50 });
    expect(value).toMatchObject({ reason: 'ended', stopReason: 'SUCCESS' });
  });

  it('ends when the client gives up', async () => {
    await home.addRun([created(RUN, 1)]);
    const gone = new AbortController();
    const waiting = call('halo_wait', { runId: RUN, seconds: 50 }, gone.signal);
    gone.abort();
    expect((await waiting).value).toMatchObject({ reason: 'timeout' });
  });

  it('is limited in number, and the next call after them works', async () => {
    await home.addRun([created(RUN, 1)]);
    const gone = new AbortController();
    const waiting = Array.from({ length: 32 }, () => call('halo_wait', { runId: RUN, seconds: 50 }, gone.signal));
    const refused = await call('halo_runs');
    expect(refused.isError).toBe(true);
    expect(refused.content[0]?.text).toContain('More than 32 tool calls');
    gone.abort();
    await Promise.all(waiting);
    expect((await call('halo_runs')).isError).toBeUndefined();
  });
});

describe('results of tools', () => {
  it('have the same content for programs and for models, after the notice', async () => {
    await home.addRun(succeeded(RUN));
    for (const name of ['halo_runs', 'halo_status', 'halo_logs', 'halo_files']) {
      const { content, value } = await call(name, name === 'halo_runs' ? {} : { runId: RUN });
      expect(JSON.parse(content[0]!.text)).toEqual(value);
      expect(Object.keys(value)[0]).toBe('notice');
    }
  });

  it('are bounded, however large a run and its texts are', async () => {
    const long = 'x'.repeat(3_000);
    const many = created(RUN, 120);
    if (many.type !== 'run.created') throw new Error('no run');
    for (const story of many.prd.stories) story.title = long;
    const lines = Array.from({ length: 15 }, (): JournalEntry[] => [
      { type: 'run.paused', by: long, now: false },
      { type: 'run.resumed', by: long },
    ]).flat();
    await home.addRun([many, { type: 'run.started' }, ...lines]);
    home.writeArtifact(RUN, 'us-001-ab/1/gates/1.log', `start${'\u202e'.repeat(30_000)}end`);
    for (const [name, input] of [
      ['halo_status', {}],
      ['halo_logs', { lines: 200 }],
      ['halo_files', { path: 'us-001-ab/1/gates/1.log', last: 8000 }],
    ] as const) {
      const { content, isError } = await call(name, { runId: RUN, ...input });
      expect([name, isError]).toEqual([name, undefined]);
      expect(content[0]!.text.length).toBeLessThan(60_000);
    }
    const { value } = await call('halo_status', { runId: RUN });
    expect(value).toMatchObject({ omittedStories: 70, counts: { pending: 120 } });
  });

  it('a result of a long diff come page by page, which together are the diff', async () => {
    const repository = await home.addLandedRun(RUN);
    const whole = (await home.operations.readDiff({ runId: RUN })).toString();
    const { value } = await call('halo_diff', { runId: RUN });
    expect(value).toMatchObject({ text: whole, total: whole.length });
    expect(value).not.toHaveProperty('next');
    const { value: rest } = await call('halo_diff', { runId: RUN, offset: 10 });
    expect(rest).toMatchObject({ text: whole.slice(10) });
    expect(repository.root).toBeTruthy();
  });

  it('are errors with code, sentence, hint and problems', async () => {
    const { content, isError } = await call('halo_status', { runId: 'none' });
    expect(isError).toBe(true);
    expect(JSON.parse(content[0]!.text)).toMatchObject({
      error: { code: 'RUN_NOT_FOUND', hint: expect.anything() as string },
    });
    const wrong = JSON.stringify({ userStories: [{ id: 'A', title: '', priority: 'soon' }] });
    for (const prd of [JSON_EXAMPLE, MARKDOWN_EXAMPLE])
      expect(JSON.parse((await call('halo_validate_prd', { prd })).content[0]!.text)).toMatchObject({
        stories: [{ id: 'US-001', title: 'Sum up the cart', criteria: 1 }],
      });
    const bare: unknown = JSON.parse(
      (await call('halo_validate_prd', { prd: '- [ ] make it blue\n' })).content[0]!.text,
    );
    expect(JSON.stringify(bare)).toContain('Without acceptance criteria');
    for (const prd of ['/srv/shop/my prd.json', './prd.json', 'docs/PLAN.md\n'])
      for (const [tool, more] of [
        ['halo_validate_prd', {}],
        ['halo_submit', { repos: ['/srv/shop'] }],
      ] as const)
        expect(JSON.parse((await call(tool, { prd, ...more })).content[0]!.text), prd).toMatchObject({
          error: { code: 'USAGE', message: `The PRD is a path, ${prd.trim()}, instead of the text of the file.` },
        });
    const line = await call('halo_validate_prd', { prd: '- [ ] Write the install section of README.md' });
    expect([line.isError, line.value['stories']]).toMatchObject([undefined, [{ title: /README/ }]]);
    const refused = JSON.parse((await call('halo_validate_prd', { prd: wrong })).content[0]!.text) as {
      error: HaloError;
    };
    expect(refused.error.code).toBe('PRD_INVALID');
    expect(refused.error.problems.length).toBeGreaterThan(0);
  });

  it('have secrets masked', async () => {
    runner = new ToolRunner({
      operations: home.operations.restrictedFor({ by: 'tester by MCP' }),
      mask: (text) => text.replaceAll('hunter2', '*******'),
    });
    await home.addRun([
      created(RUN, 1),
      { type: 'run.started' },
      ...attempted('US-001'),
      { type: 'run.ended', stopReason: 'PARTIAL', detail: 'the key hunter2' },
    ]);
    expect((await call('halo_status', { runId: RUN })).content[0]!.text).not.toContain('hunter2');
  });
});
