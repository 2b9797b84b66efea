import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OK, prdOf, remotelyScripted, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { connectHttp, connectStdio, type McpClient } from '../../support/mcp-client.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';

const AGENT = `echo work > "work-$(ls | wc -l).txt"; ${OK}`;
const PRD = new TextDecoder().decode(prdOf([{ id: 'US-001' }, { id: 'US-002' }]).bytes);
/** The same, as a named PRD: such PRDs need a description for each story. */
const MAIN = PRD.replaceAll('"description":""', '"description":"As a user, I want it."');

let home: HaloHome;
let url: string;
let token: string;
const repositories: TestRepository[] = [];

beforeAll(async () => {
  home = openHome();
  const server = home.start(['up', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await server.says('home ');
  url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
  token = readFileSync(join(home.dir, 'api-token'), 'utf8').trim();
});
afterAll(async () => {
  await home.close();
  for (const repository of repositories) repository.remove();
});

const WAYS = casesAtLevel<[string, () => Promise<McpClient>]>(
  [
    ['stdio', () => connectStdio(home)],
    ['HTTP', () => connectHttp(url, token)],
  ],
  [['stdio against a server', () => connectStdio(home, { HALO_URL: url, HALO_TOKEN: token })]],
);

describe('MCP', () => {
  it.each(WAYS)(
    'invokes the actions of the loop without a terminal: validate, submit, wait, read, over %s',
    async (_name, connect) => {
      const repository = makeRepository();
      repositories.push(repository);
      const mcp = await connect();
      try {
        expect(await mcp.call('halo_validate_prd', { prd: PRD })).toMatchObject({
          dialect: 'ralph',
          omittedStories: 0,
        });
        const request = {
          prd: PRD,
          repos: [repository.root],
          set: remotelyScripted(AGENT),
          key: `once-${repository.root}`,
        };
        const submitted = await mcp.call('halo_submit', request);
        const [{ runId }] = submitted.runs as [{ runId: string }];
        expect(submitted.workers).toBeGreaterThan(0);
        // A client that lost the answer asks again.
        expect(await mcp.call('halo_submit', request)).toMatchObject({ runs: [{ runId }] });

        let seq = 0;
        let state: Record<string, unknown> = {};
        for (let calls = 0; state.reason !== 'ended' && calls < 20; calls += 1) {
          state = await mcp.call('halo_wait', { runId, after: seq, seconds: 30 });
          seq = state.seq as number;
        }
        expect(state).toMatchObject({ reason: 'ended', stopReason: 'SUCCESS', counts: { passed: 2 } });
        const land = { command: `halo land ${runId}`, why: 'fast-forward main to it' };
        expect(state.next).toContainEqual(expect.objectContaining(land));
        expect((await mcp.call('halo_logs', { runId, story: 'US-001' })).text).toContain('US-001');
        expect((await mcp.call('halo_diff', { runId, story: 'US-001' })).text).toContain('+work');
        const { files } = (await mcp.call('halo_files', { runId })) as { files: { path: string }[] };
        const prompt = files.find(({ path }) => path.endsWith('prompt.md') || path.includes('prompt'))!;
        expect((await mcp.call('halo_files', { runId, path: prompt.path })).text).not.toBe('');
        expect(await mcp.call('halo_runs', { repo: repository.root })).toMatchObject({ runs: [{ runId }] });
        expect(await mcp.call('halo_pause', { runId }).catch(String)).toContain('CONTROL_REFUSED');
        expect(repository.git('rev-list', '--count', `main..halo/${runId}`)).toBe('2');
      } finally {
        await mcp.close();
      }
    },
  );
});

describe('halo plugin run', () => {
  const run = async (words: string[]) => {
    const repository = makeRepository({ '.halo/prds/main/prd.json': MAIN });
    repositories.push(repository);
    const env = { HALO_HOME: home.dir };
    const { code, stdout, stderr } = await callHalo(['plugin', ...words], { cwd: repository.root, env });
    // Exactly one document, whatever happened.
    return {
      code,
      stderr,
      lines: stdout.split('\n').length - 1,
      result: JSON.parse(stdout) as Record<string, unknown>,
    };
  };
  const settings = (script: string) => scripted(script).flatMap((pair) => ['-c', pair]);

  it('runs the named PRD without a terminal and prints one JSON document: ok, action and message', async () => {
    const { code, lines, result } = await run(['run', 'main', ...settings(AGENT)]);
    expect({ code, lines }).toEqual({ code: 0, lines: 1 });
    expect(result).toMatchObject({ ok: true, action: 'run', stopReason: 'SUCCESS', exitStatus: 0 });
    expect(result.message).toContain('2 of 2 stories passed');
    expect(result.landed).toMatchObject([{ story: 'US-001' }, { story: 'US-002' }]);
    expect((await run(['run', ...settings(AGENT)])).result).toMatchObject({ ok: true });
  });

  it('prints one JSON document with ok false for a run that failed, and for an error', async () => {
    const failed = await run(['run', 'main', ...settings('exit 3')]);
    expect(failed.lines).toBe(1);
    expect(failed.result).toMatchObject({ ok: false, action: 'run', landed: [], exitStatus: failed.code });
    expect(failed.code).toBeGreaterThan(2);
    for (const [words, code, error] of [
      [['run', 'none'], 6, 'PRD_UNREADABLE'],
      [['run', '--wrong'], 2, 'USAGE'],
    ] as const) {
      const { result, ...ended } = await run([...words]);
      expect(ended).toMatchObject({ code, lines: 1, stderr: expect.stringContaining(error) as string });
      expect(result).toMatchObject({ ok: false, error: { code: error, message: expect.any(String) as string } });
    }
  });

  it('is an error without an action, and with another one', async () => {
    for (const words of [[], ['stop']])
      expect(await run(words)).toMatchObject({ code: 2, lines: 1, result: { ok: false, error: { code: 'USAGE' } } });
  });
});
