import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FORGES } from '../../src/core/forge-name.ts';
import { openForge } from '../../src/forge/open-forge.ts';
import { openReplayForge, type RecordedAnswer } from '../support/forge/replay-forge.ts';

/** Answers with the fields, headers and texts of the examples in the API reference of a forge. */
interface Recording {
  project: string;
  answers: RecordedAnswer[];
  /** Instead of the first page of issues: a rate limit that ends soon, and one that does not. */
  limits: Record<'short' | 'long', RecordedAnswer>;
  refusals: Record<'token' | 'permission' | 'project', RecordedAnswer>;
}

const LANDED = '6dcb09b5b57875f334f61aebed695e2e4193db5e';
const NOT_LANDED = '7638417db6d59f3c431d3e1f261cc637155684cd';
const MARK = '<!-- halo:mark -->';
const SINCE = '2011-04-14T00:00:00Z';

describe.each(FORGES)('answers of %s', (name) => {
  const file = new URL(`fixtures/${name}.json`, import.meta.url);
  const { project, answers, limits, refusals } = JSON.parse(readFileSync(file, 'utf8')) as Recording;

  async function open(...first: RecordedAnswer[]) {
    const replay = await openReplayForge([...first, ...answers]);
    onTestFinished(() => replay.close());
    const waits: number[] = [];
    const wait = (ms: number) => Promise.resolve(void waits.push(ms));
    const address = { url: replay.url, tokenEnv: 'FORGE_TOKEN', token: 'a-token-0123456789', maxWaitMs: 5000, wait };
    return { log: replay.log, waits, forge: openForge({ forge: name, project, label: 'halo' }, address) };
  }

  test('answers with two pages of issues are read in ascending order, without pull requests', async () => {
    const { forge, log } = await open();
    expect(await forge.listIssues('halo')).toEqual([
      {
        number: 1347,
        title: 'Found a bug',
        body: "I'm having a problem with this.\r\n\r\n- [ ] It adds up",
        labels: ['halo', 'halo:next'],
        isClosed: false,
      },
      { number: 1350, title: 'No text', body: '', labels: ['halo'], isClosed: false },
    ]);
    expect(log).toHaveLength(2);
  });

  test('answers with one issue are an open one, a closed one, or none', async () => {
    const { forge } = await open();
    expect(await forge.findIssue(1347)).toMatchObject({ title: 'Found a bug', isClosed: false });
    expect(await forge.findIssue(1349)).toMatchObject({ title: 'Done before', isClosed: true });
    const none = { 1348: 'a pull request', 1351: 'moved', 1352: 'deleted', 1353: 'unknown' };
    for (const [number, why] of Object.entries(none))
      expect(await forge.findIssue(Number(number)), why).toBeUndefined();
  });

  test('answers to a comment, labels and closing are accepted', async () => {
    const { forge } = await open();
    await forge.comment(1347, `Done in \`6dcb09b\`.\n\n${MARK}`);
    await forge.addLabel(1347, 'halo:in-progress');
    await forge.removeLabel(1347, 'halo:in-progress');
    await forge.removeLabel(1347, 'halo:in-progress');
    await forge.closeIssue(1347);
  });

  test('answers with comments show whether one of them has a text', async () => {
    const { forge } = await open();
    expect(await forge.hasComment(1347, MARK, SINCE)).toBe(true);
    expect(await forge.hasComment(1347, 'another mark', SINCE)).toBe(false);
  });

  test('answers with events show whether the issue was reopened after a time', async () => {
    const { forge } = await open();
    expect(await forge.wasReopened(1347, '2011-04-16T00:00:00Z')).toBe(true);
    expect(await forge.wasReopened(1347, '2011-04-17T00:00:00Z')).toBe(false);
  });

  test('show whether the default branch has a commit', async () => {
    const { forge } = await open();
    expect(await forge.hasLanded(LANDED)).toBe(true);
    expect(await forge.hasLanded(NOT_LANDED)).toBe(false);
    expect(await forge.hasLanded('0'.repeat(40))).toBe(false);
  });

  test('about a rate limit are waited for, or reported with the time', async () => {
    const short = await open(limits.short);
    expect(await short.forge.listIssues('halo')).toHaveLength(2);
    expect(short.log[0]).toMatch(/ (403|429)$/);
    expect(short.waits).toEqual([expect.toSatisfy((ms: number) => ms >= 1_000 && ms <= 2_000)]);
    const long = await open(limits.long);
    await expect(long.forge.listIssues('halo')).rejects.toThrow(/accepts no requests before \d{4}-.*rate limit/);
    expect(long.log).toHaveLength(1);
  });

  test('answers that refuse a request are reported with the reason of the forge', async () => {
    const token = await open(refusals.token);
    const { message } = refusals.token.body as { message: string };
    await expect(token.forge.listIssues('halo')).rejects.toThrow(`answered 401 ${JSON.stringify(message)}`);
    const permission = await open({ ...refusals.permission, sent: { body: 'x' } });
    await expect(permission.forge.comment(1347, 'x')).rejects.toMatchObject({
      message: expect.stringMatching(/answered 403 ".*(token|privileges)/) as string,
      hint: expect.stringContaining('permissions') as string,
    });
    const missing = await open(refusals.project);
    await expect(missing.forge.listIssues('halo')).rejects.toThrow('no such project');
  });
});
