import { describe, expect, test as base } from 'vitest';
import { FORGES } from '../../src/core/forge-name.ts';
import { openForge } from '../../src/forge/open-forge.ts';
import { FAKE_PROJECT, openFakeForge, type FakeForge } from '../support/forge/fake-forge.ts';

describe.each(FORGES)('the issues of %s', (name) => {
  const test = base.extend('open', ({}, { onCleanup }) => {
    const fakes: FakeForge[] = [];
    onCleanup(() => Promise.all(fakes.map((fake) => fake.close())).then(() => undefined));
    return async ({
      project = FAKE_PROJECT,
      maxWaitMs = 5000,
      requestMs,
      token,
    }: { project?: string; maxWaitMs?: number; requestMs?: number; token?: string } = {}) => {
      const fake = await openFakeForge(name);
      fakes.push(fake);
      const source = { forge: name, project, label: 'halo' };
      const waits: number[] = [];
      const wait = (ms: number) => Promise.resolve(void waits.push(ms));
      const given = { maxWaitMs, wait, ...(requestMs !== undefined && { requestMs, maxTries: 2 }) };
      const address = { url: fake.url, tokenEnv: 'FORGE_TOKEN', token: token ?? fake.token, ...given };
      return { fake, waits, forge: openForge(source, address) };
    };
  });

  test('are the open ones with the label, over all pages, without pull requests', async ({ open }) => {
    const { fake, forge } = await open();
    for (let number = 1; number <= 230; number++) fake.add({ number });
    fake.add({ number: 231, state: 'closed' });
    fake.add({ number: 232, labels: ['other'] });
    fake.add({ number: 233, isPullRequest: true });
    fake.add({ number: 234, title: 'Last', body: null, labels: ['halo', 'halo:p1'] });
    const issues = await forge.listIssues('halo');
    expect(issues.map(({ number }) => number)).toEqual([...Array.from({ length: 230 }, (_, index) => index + 1), 234]);
    expect(issues.at(-1)).toEqual({
      number: 234,
      title: 'Last',
      body: '',
      labels: ['halo', 'halo:p1'],
      isClosed: false,
    });
  });

  test('can be read one by one', async ({ open }) => {
    const { fake, forge } = await open();
    fake.add({ number: 7, body: 'Text', state: 'closed' });
    expect(await forge.findIssue(7)).toMatchObject({ number: 7, body: 'Text', isClosed: true });
    expect(await forge.findIssue(8)).toBeUndefined();
  });

  test('get comments and labels, and are closed', async ({ open }) => {
    const { fake, forge } = await open();
    const issue = fake.add({ number: 7 });
    await forge.comment(7, 'Hello *you*');
    await forge.addLabel(7, 'halo:in-progress');
    await forge.addLabel(7, 'halo:in-progress');
    expect(issue.labels).toEqual(['halo', 'halo:in-progress']);
    await forge.removeLabel(7, 'halo:in-progress');
    await forge.removeLabel(7, 'halo:in-progress');
    await forge.closeIssue(7);
    await forge.closeIssue(7);
    expect(issue).toMatchObject({ labels: ['halo'], state: 'closed', comments: ['Hello *you*'] });
    const before = new Date(Date.now() - 60_000).toISOString();
    expect(await forge.hasComment(7, '*you*', before)).toBe(true);
    expect(await forge.hasComment(7, 'others', before)).toBe(false);
  });

  test('know whether they were reopened after a time', async ({ open }) => {
    const { fake, forge } = await open();
    fake.add({ number: 7, reopenedAt: '2026-03-02T00:00:00Z' });
    fake.add({ number: 8 });
    expect(await forge.wasReopened(7, '2026-03-01T00:00:00Z')).toBe(true);
    expect(await forge.wasReopened(7, '2026-03-03T00:00:00Z')).toBe(false);
    expect(await forge.wasReopened(8, '2026-03-01T00:00:00Z')).toBe(false);
  });

  test('know whether the default branch has a commit', async ({ open }) => {
    const { fake, forge } = await open();
    fake.landed.add('a'.repeat(40));
    expect(await forge.hasLanded('a'.repeat(40))).toBe(true);
    expect(await forge.hasLanded('b'.repeat(40))).toBe(false);
  });

  test('are not transferred again while they are unchanged', async ({ open }) => {
    const { fake, forge } = await open();
    fake.add({ number: 7 });
    const before = await forge.listIssues('halo');
    expect(await forge.listIssues('halo')).toEqual(before);
    expect(fake.log.at(-1)).toMatch(/ 304$/);
    fake.issues.get(7)!.title = 'Changed';
    expect((await forge.listIssues('halo'))[0]?.title).toBe('Changed');
  });

  test('are read after a rate limit has been reset and after faults of the server', async ({ open }) => {
    const { fake, waits, forge } = await open();
    fake.add({ number: 7 });
    const faults = [
      { status: 429, headers: { 'retry-after': '1' } },
      { status: 502 },
      {
        status: 403,
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000)) },
      },
    ];
    fake.fault = () => faults.shift();
    expect(await forge.listIssues('halo')).toHaveLength(1);
    expect(fake.log.map((line) => line.slice(-3))).toEqual(['429', '502', '403', '200']);
    // The time of a reset is in seconds, and may be that of another clock.
    expect(waits).toEqual([1_000, 1_000, expect.toSatisfy((ms: number) => ms >= 1_000 && ms <= 2_000)]);
  });

  test('are refused with the time if a rate limit lasts too long', async ({ open }) => {
    const { fake, waits, forge } = await open({ maxWaitMs: 1000 });
    fake.fault = () => ({ status: 429, headers: { 'retry-after': '7200' } });
    await expect(forge.listIssues('halo')).rejects.toThrow(/accepts no requests before \d{4}-/);
    expect(fake.log).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  test.for([
    [429, { 'retry-after': '2' }, undefined],
    [429, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }, undefined],
    [429, {}, undefined],
    [403, { 'retry-after': '2' }, undefined],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4000000000' }, undefined],
    [403, {}, 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.'],
  ] as const)(
    'hazard 58: are refused with the time and its hint if a rate limit does not end: %s %j %s',
    async ([status, headers, message], { open }) => {
      const { fake, waits, forge } = await open({ maxWaitMs: 120_000 });
      fake.add({ number: 7 });
      const body = message === undefined ? '{}' : JSON.stringify({ message });
      fake.fault = () => ({ status, headers, body });
      for (const call of [() => forge.listIssues('halo'), () => forge.comment(7, 'Hello')])
        await expect(call()).rejects.toMatchObject({
          code: 'FORGE_FAILED',
          message: expect.stringMatching(/accepts no requests before \d{4}-/) as string,
          hint: expect.stringContaining('after that time') as string,
        });
      expect(waits.every((ms) => ms >= 2_000 && ms <= 60_000)).toBe(true);
      expect(fake.issues.get(7)?.comments).toEqual([]);
    },
  );

  test.for([{ wait: () => new Promise<void>(() => undefined) }, { status: 200, stall: true }])(
    'hazard 58: fail after a limited time if the forge hangs, and a write is not repeated: %j',
    async (fault, { open }) => {
      const { fake, forge } = await open({ requestMs: 100 });
      const asked: string[] = [];
      fake.fault = (request) => (asked.push(request.split(' ')[0]!), fault);
      await expect(forge.findIssue(7)).rejects.toThrow(`The forge ${fake.url} does not answer: `);
      await expect(forge.comment(7, 'Hello')).rejects.toMatchObject({ code: 'FORGE_FAILED' });
      expect(asked).toEqual(['GET', 'GET', 'POST']);
    },
  );

  test('are refused with a time if a rate limit lasts longer than a date can say', async ({ open }) => {
    const { fake, forge } = await open({ maxWaitMs: 1000 });
    fake.fault = () => ({ status: 429, headers: { 'retry-after': '1e300' } });
    await expect(forge.listIssues('halo')).rejects.toMatchObject({ code: 'FORGE_FAILED' });
  });

  test('are refused with the status and a hint for a wrong token or project', async ({ open }) => {
    const { forge } = await open({ token: 'wrong' });
    await expect(forge.listIssues('halo')).rejects.toMatchObject({
      code: 'FORGE_FAILED',
      message: expect.stringMatching(/answered 401 "Bad credentials"/) as string,
      hint: expect.stringContaining('token') as string,
    });
    const { forge: other } = await open({ project: 'acme/none' });
    await expect(other.listIssues('halo')).rejects.toThrow('no such project');
  });

  test('do not follow a redirect, and answers are bounded', async ({ open }) => {
    const { fake, forge } = await open();
    fake.fault = () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } });
    await expect(forge.listIssues('halo')).rejects.toThrow('answered 302');
    fake.fault = () => ({ status: 200, body: '[]'.padEnd(17 * 1024 * 1024) });
    await expect(forge.listIssues('halo')).rejects.toThrow('longer than');
    fake.fault = () => ({ status: 200, body: '<html>' });
    await expect(forge.listIssues('halo')).rejects.toThrow('does not understand');
  });

  test('a write is not repeated when the connection ends', async ({ open }) => {
    const { fake, forge } = await open();
    const issue = fake.add({ number: 7 });
    fake.fault = (request) => (request.startsWith('POST') ? { drop: 'after' } : undefined);
    await expect(forge.comment(7, 'Once')).rejects.toMatchObject({ code: 'FORGE_FAILED' });
    expect(issue.comments).toEqual(['Once']);
  });
});
