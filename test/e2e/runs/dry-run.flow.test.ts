import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHalo, scripted, type TestHalo, type TestStory } from '../../support/halo/halo.ts';
import { modelAt, openModelHalo } from '../../support/halo/model-halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
beforeAll(async () => {
  halo = await openHalo();
});
afterAll(async () => {
  await halo.close();
});

/** Tries to change the workspace in several ways, and reports what it sees. */
const AGENT = `cat > /tmp/prompt
for path in new.txt README.md .git/config; do (echo changed > $path) 2>/dev/null && echo "changed $path"; done
rm -f README.md 2>/dev/null; git commit --allow-empty -m x >/dev/null 2>&1 && echo committed
mount -o remount,rw . >/dev/null 2>&1 && echo remounted
grep -c 'Change nothing' /tmp/prompt
printf '{"status":"ok","summary":"Adds total.ts.\\\\n\\\\n- a function\\\\u001b[31m"}\\n'`;

const STORIES: TestStory[] = [{ id: 'A' }, { id: 'B', dependsOn: ['A'] }, { id: 'C', passes: true }];

async function dryRun(agent: string, stories = STORIES, settings: string[] = []) {
  const userStories = stories.map(({ id, passes = false, dependsOn = [] }) => {
    return { id, title: `Story ${id}`, acceptanceCriteria: ['It works.'], passes, dependsOn };
  });
  const repository = newRepository({ 'prd.json': JSON.stringify({ project: 'Shop', userStories }) });
  const path = join(repository.root, 'prd.json');
  const before = readFileSync(path, 'utf8');
  const [submitted] = (
    await halo.operations.submit({
      prd: { path, bytes: Buffer.from(before) },
      repos: [repository.root],
      set: scripted(agent, ['false'], ['setup=["false"]', 'land.mode="ff"', 'approval.mode="run"', ...settings]),
      profile: undefined,
      allowDirty: false,
      dryRun: true,
    })
  ).runs;
  const state = await halo.untilEnd(submitted!.runId);
  return { repository, state, unchanged: () => expect(readFileSync(path, 'utf8')).toBe(before) };
}

describe('a dry run', () => {
  it('describes each open story once, and changes neither repository, branches nor PRD', async () => {
    const { repository, state, unchanged } = await dryRun(AGENT);
    expect(state).toMatchObject({
      dry: true,
      stopReason: 'SUCCESS',
      detail: '2 of 3 stories described, 1 done before, nothing changed',
      stories: [
        { id: 'A', progress: 'passed', attempts: 1, summary: 'Adds total.ts.\n\n- a function\u001b[31m' },
        { id: 'B', progress: 'passed', attempts: 1 },
        { id: 'C', progress: 'done', attempts: 0 },
      ],
    });
    const said = halo
      .journal(state.runId)
      .flatMap((event) => (event.type === 'agent.activity' ? [event.activity] : []));
    expect(said).toEqual(Array(2).fill({ kind: 'say', text: '1' }));
    const phases = halo.journal(state.runId).flatMap((event) => (event.type === 'phase.started' ? [event.phase] : []));
    expect([...new Set(phases)]).toEqual(['prepare', 'agent']);
    expect(repository.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
    expect(repository.git('status', '--porcelain')).toBe('');
    expect(state.tip).toBe(state.repo.base);
    unchanged();
  });

  it('is marked as dry in its record and answers, and cannot be landed, approved or rejected', async () => {
    const { state } = await dryRun(AGENT, [{ id: 'A' }]);
    const { runId } = state;
    const read = (path: string) => JSON.parse(halo.readFile(runId, path)) as unknown;
    expect(read('run.json')).toMatchObject({ dry: true, landed: { commits: [] } });
    expect(read(`artifacts/${state.stories[0]!.key}/1/result.json`)).toMatchObject({ status: 'ok', dry: true });
    for (const refused of ['land', 'approve'] as const)
      await expect(halo.operations[refused]({ runId })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    await expect(halo.operations.reject({ runId, reason: 'no' })).rejects.toMatchObject({
      code: 'LAND_REFUSED',
      message: `Run ${runId} is a dry run: there is nothing to approve or reject.`,
    });
  });

  it('fails a story whose agent gives no description, and keeps nothing of it', async () => {
    const { state, unchanged } = await dryRun('exit 3', [{ id: 'A' }]);
    expect(state).toMatchObject({ stopReason: 'ENGINE_ERROR', stories: [{ progress: 'failed' }] });
    unchanged();
  });

  it('works with the real Codex, which can read files but not write them', async () => {
    const model = await openModelHalo('sk-test-dry-run');
    try {
      const server = await model.serve([
        { run: 'cat README.md; echo x > new.txt; ls', expect: ['Change nothing', 'Describe how you would implement'] },
        { json: { status: 'ok', summary: 'Adds greeting.txt.' }, expect: ['Read-only file system'] },
      ]);
      const repository = model.newRepository();
      const [submitted] = (
        await model.operations.submit({
          prd: {
            path: '/tmp/prd.json',
            bytes: Buffer.from(JSON.stringify({ userStories: [{ id: 'hello', title: 'Hello' }] })),
          },
          repos: [repository.root],
          set: modelAt(server.url, ['agent=codex']),
          profile: undefined,
          allowDirty: false,
          dryRun: true,
        })
      ).runs;
      const state = await model.untilEnd(submitted!.runId);
      expect(state).toMatchObject({ stopReason: 'SUCCESS', usage: { requests: 2 } });
      expect(state.stories[0]).toMatchObject({ summary: 'Adds greeting.txt.' });
      expect(server.remaining()).toBe(0);
    } finally {
      await model.close();
    }
  });
});

it('a checkout with changes is not part of a dry run', async () => {
  const repository = newRepository({ 'a.txt': 'committed' });
  writeFileSync(join(repository.root, 'a.txt'), 'changed');
  const request = {
    prd: { path: '/tmp/prd.json', bytes: Buffer.from(JSON.stringify({ userStories: [{ id: 'A', title: 'A' }] })) },
    repos: [repository.root],
    set: scripted(`printf '{"status":"ok","summary":"%s"}\\n' "$(cat a.txt)"`),
    profile: undefined,
    dryRun: true,
  };
  await expect(
    halo.operations.submit({ ...request, allowDirty: false }).then(({ runs }) => runs),
  ).rejects.toMatchObject({
    code: 'DIRTY_WORKTREE',
  });
  const [submitted] = (await halo.operations.submit({ ...request, allowDirty: true })).runs;
  const state = await halo.untilEnd(submitted!.runId);
  expect(state.stories[0]?.summary).toBe('committed');
  expect(execFileSync('cat', [join(repository.root, 'a.txt')], { encoding: 'utf8' })).toBe('changed');
});
