import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { it as base } from '../../support/fixtures.ts';
import { OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** An agent that plants a workflow in the story P, and does honest work in all others. */
const PLANT = `if ! test -e .github && grep -q 'Story P'; then mkdir -p .github/workflows; echo evil > .github/workflows/x.yml; else mkdir -p .circleci; date +%N | tee file > .circleci/x.yml; fi; ${OK}`;

interface Waiting {
  repository: TestRepository;
  state: RunState;
}

async function plant(halo: TestHalo, ids: string[], more: string[] = []): Promise<Waiting> {
  const repository = newRepository();
  const settings = scripted(PLANT, ['test -e README.md'], ['tests.baseline=never', ...more]);
  const stories = ids.map((id) => ({ id }));
  return { repository, state: await halo.run(repository.root, stories, settings) };
}

function branches(repository: TestRepository): string {
  return repository.git('for-each-ref', '--format=%(refname) %(objectname)');
}

const CHANGES: [what: string, change: string, paths: string[]][] = [
  [
    'a symbolic link in the place of a protected folder',
    'mkdir x; echo y > x/settings.json; ln -s x .claude',
    ['.claude'],
  ],
  [
    'other letters for the same folder',
    'mkdir -p .GitHub/workflows; echo x > .GitHub/workflows/x.yml',
    ['.GitHub/workflows/x.yml'],
  ],
  ['a removal', 'rm -rf .husky', ['.husky/pre-commit']],
  ['a new name for it', 'mv .vscode editor', ['.vscode/tasks.json']],
  ['orders to the next agent', 'mkdir -p a/b; echo obey > a/b/AGENTS.md', ['a/b/AGENTS.md']],
  ['what the next run goes by', `echo 'gates = []' > halo.toml`, ['halo.toml']],
];

/** A story that waits with all of these changes, and two runs that wait for the approval of their story P. */
const it = base
  .extend('held', { scope: 'file' }, async ({ halo }) => {
    const repository = newRepository({ '.husky/pre-commit': 'true', '.vscode/tasks.json': '{}' });
    const agent = `${CHANGES.map(([, change]) => change).join('; ')}; ${OK}`;
    const state = await halo.run(repository.root, [{ id: 'P' }], scripted(agent, []));
    expect(state.stopReason).toBe('NEEDS_HUMAN');
    return state.stories[0]!.held;
  })
  .extend('alone', { scope: 'file' }, ({ halo }) => plant(halo, ['P', 'B']))
  .extend('between', { scope: 'file' }, ({ halo }) => plant(halo, ['A', 'P', 'B'], ['land.protect=["!.circleci/**"]']));

describe('attack 38: an agent that changes files that run outside the sandbox', () => {
  it('lands nothing: the story waits for approval, with its paths named and its gates run', async ({ halo, alone }) => {
    const { repository, state } = alone;
    expect(state).toMatchObject({
      stopReason: 'NEEDS_HUMAN',
      stories: [{ progress: 'needs_human' }, { progress: 'pending' }],
    });
    expect(state.detail).toContain('.github/workflows/x.yml');
    expect(state.stories[0]!.held).toEqual({
      commit: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
      paths: ['.github/workflows/x.yml'],
      named: ['protected'],
    });
    expect(branches(repository)).toBe(`refs/heads/main ${repository.git('rev-parse', 'HEAD')}`);
    expect(halo.readFile(state.runId, 'journal.jsonl')).toContain('"type":"gate.ended"');
    expect((await halo.operations.readDiff({ runId: state.runId, story: 'P' })).toString()).toContain('+evil');
  });

  it.for(CHANGES)('waits for approval with %s', ([, , paths], { held }) => {
    expect(held?.paths).toEqual(expect.arrayContaining(paths));
  });

  it('waits for the approval of nothing else', ({ held }) => {
    expect([...(held?.paths ?? [])].sort()).toEqual(CHANGES.flatMap(([, , paths]) => paths).sort());
  });
});

describe('attack 38: a story that waits for approval', () => {
  it('is not landed by approval if the branch has moved meanwhile', async ({ halo, between }) => {
    const { repository, state: waiting } = between;
    const branch = `refs/heads/halo/${waiting.runId}`;
    const other = repository.git('commit-tree', '-p', waiting.tip, '-m', 'foreign', `${waiting.tip}^{tree}`);
    repository.git('update-ref', branch, other);
    try {
      await expect(
        halo.operations.approve({ runId: waiting.runId, story: 'P', confirm: ['protected'] }),
      ).rejects.toMatchObject({
        code: 'CONFLICT',
      });
      expect(repository.git('rev-parse', branch)).toBe(other);
      expect((await halo.operations.getRun({ runId: waiting.runId })).state.stories[1]!.held).toBeDefined();
    } finally {
      repository.git('update-ref', branch, waiting.tip);
    }
  });

  it('lands as exactly the checked commit after its approval, and the run continues', async ({ halo, between }) => {
    const { repository, state: waiting } = between;
    const { commit } = waiting.stories[1]!.held!;
    expect(waiting.tip).toBe(waiting.stories[0]!.commit);
    expect(await halo.operations.approve({ runId: waiting.runId, story: 'P', confirm: ['protected'] })).toEqual({
      story: 'P',
      commit,
      changed: true,
      landed: true,
      goesOn: true,
    });
    const state = await halo.untilEnd(waiting.runId);
    expect(state).toMatchObject({ status: 'ended', stopReason: 'SUCCESS' });
    expect(state.stories.map(({ progress, held }) => [progress, held])).toEqual(Array(3).fill(['passed', undefined]));
    const log = repository.git(
      'log',
      '--reverse',
      '--format=%H %an %(trailers:key=Halo-Story,valueonly,separator=)',
      `main..halo/${state.runId}`,
    );
    expect(log.split('\n')[1]).toBe(`${commit} halo P`);
    expect(log.split('\n')).toHaveLength(3);
    const again = await halo.operations.approve({ runId: state.runId, story: 'P' });
    expect(again).toEqual({ story: 'P', commit, changed: false, landed: true, goesOn: false });
    await expect(halo.operations.reject({ runId: state.runId, story: 'P' })).rejects.toMatchObject({
      code: 'LAND_REFUSED',
    });
    await expect(halo.operations.approve({ runId: state.runId, story: 'A' })).rejects.toMatchObject({
      code: 'LAND_REFUSED',
    });
  });

  it('is dropped when it is rejected, and the run ends with that', async ({ halo, alone }) => {
    const { repository, state: waiting } = alone;
    const { commit } = waiting.stories[0]!.held!;
    const reason = 'no \u001b[31mway\u202e';
    expect(await halo.operations.reject({ runId: waiting.runId, story: 'P', reason })).toEqual({
      story: 'P',
      commit,
      changed: true,
      landed: false,
      goesOn: false,
    });
    const state = await halo.untilEnd(waiting.runId);
    expect(state).toMatchObject({ stopReason: 'APPROVAL_DENIED', detail: 'P: no <U+001B>[31mway<U+202E>' });
    expect(branches(repository)).toBe(`refs/heads/main ${repository.git('rev-parse', 'HEAD')}`);
    expect(await halo.operations.reject({ runId: state.runId, story: 'P', reason: 'again' })).toMatchObject({
      commit,
      changed: false,
    });
    await expect(halo.operations.approve({ runId: state.runId, story: 'P' })).rejects.toMatchObject({
      code: 'LAND_REFUSED',
    });
  });

  it('lands without approval if the configuration excludes its path', ({ between: { repository, state } }) => {
    expect(state.stories[0]).toMatchObject({ progress: 'passed' });
    const changed = repository.git('diff', '--name-only', 'main', state.stories[0]!.commit!);
    expect(changed.split('\n')).toEqual(['.circleci/x.yml', 'file']);
  });
});

describe('incident named-files: files that other programs execute although no list contains their names', () => {
  const prd = (own: boolean, other: boolean) =>
    JSON.stringify({
      userStories: [
        { id: 'P', title: 'Story P', acceptanceCriteria: ['It works.'], passes: own },
        { id: 'Q', title: 'Story Q', acceptanceCriteria: ['It is safe.'], passes: other },
      ],
    });

  async function runHere(halo: TestHalo, repository: TestRepository, change: string): Promise<RunState> {
    const path = join(repository.root, 'plans/next.json');
    const [run] = (
      await halo.operations.submit({
        prd: { path, bytes: readFileSync(path) },
        repos: [repository.root],
        profile: undefined,
        set: scripted(`${change}; ${OK}`, [], ['prd.write_back=false']),
        allowDirty: false,
      })
    ).runs;
    return halo.untilEnd(run!.runId);
  }

  it('wait for approval: files named by git settings, link targets, new tool folders, other marks in the PRD', async ({
    halo,
  }) => {
    const files = {
      'plans/next.json': prd(false, false),
      'tools/hooks/post-commit': 'true',
      'team.gitconfig': '',
      'ai/rules.md': 'rules',
      'shared/ci/x.yml': 'x',
      'shared/free.txt': '',
      '.known/x': '',
    };
    const change = [
      `printf '%s' '${prd(true, true)}' > plans/next.json`,
      'echo evil > tools/hooks/post-commit; echo evil > team.gitconfig; echo evil > ai/rules.md; echo evil > shared/ci/x.yml',
      'mkdir .newtool; echo evil > .newtool/config; echo ok > shared/free.txt; echo ok > .known/x; echo ok > .editorconfig',
    ].join('; ');
    const repository = newRepository(files);
    symlinkSync('ai/rules.md', join(repository.root, 'CLAUDE.md'));
    symlinkSync('shared/ci', join(repository.root, '.github'));
    repository.commit('links');
    repository.git('config', 'core.hooksPath', 'tools/hooks');
    repository.git('config', 'include.path', '../team.gitconfig');
    const state = await runHere(halo, repository, change);
    expect(state.stories[0]).toMatchObject({
      progress: 'needs_human',
      held: {
        paths: [
          ...['.newtool/config', 'ai/rules.md', 'plans/next.json', 'shared/ci/x.yml'],
          ...['team.gitconfig', 'tools/hooks/post-commit'],
        ],
      },
    });
    expect(state.detail).toContain('tools/hooks/post-commit (core.hookspath)');
    expect(state.detail).toContain('it changes plans/next.json: marks Q as done');
  });
});
