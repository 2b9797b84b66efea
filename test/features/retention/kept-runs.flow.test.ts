import { expect } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { IssueReportFiles } from '../../../src/store/forge-files.ts';
import { findKeptRuns, type IdentifiedRun } from '../../../src/features/retention/worker/prune-home.ts';
import { it } from '../../support/fixtures.ts';
import { asked, BASE, COMMIT, created, failed, held, passed, stateOf } from '../../support/journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const OTHER = '0tbq2bbbbbbbbbbb';
const END: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };

const runOf = (entries: JournalEntry[], runId = RUN, change: Partial<RunState> = {}): IdentifiedRun => {
  const state = stateOf(created(runId, 1), { type: 'run.started' }, ...entries);
  return { runId, state: { ...state, ...change } };
};

/** An ended run whose story landed a commit on its branch of a real repository. */
function landedRun(repository: TestRepository, ...more: JournalEntry[]) {
  const base = repository.git('rev-parse', 'main');
  repository.git('checkout', '-q', '-b', `halo/${RUN}`);
  repository.write('cart.txt', 'new\n');
  const commit = repository.commit('Add the cart.');
  repository.git('checkout', '-q', 'main');
  const entries = passed('US-001').map((entry) => (entry.type === 'story.ended' ? { ...entry, commit } : entry));
  const repo = { source: repository.root, mirror: 'shop-1', branch: 'main', base };
  const state = stateOf({ ...created(RUN, 1), repo }, { type: 'run.started' }, ...entries, END, ...more);
  return { commit, run: { runId: RUN, state } };
}
const PULL = `refs/remotes/origin/halo-pr/${RUN}/1-us-001`;
const NOT_LANDED = 'its commits have not landed on your branch';

it.for<[string, JournalEntry[], string | undefined]>([
  ['that has not ended is kept', [], 'it has not ended'],
  ['with a story that waits for approval is kept', held('US-001'), 'a story waits for approval'],
  [
    'with an approved story that has not landed is kept',
    [
      ...held('US-001').slice(0, -1),
      { type: 'approval.given', story: 'US-001', attempt: 1, commit: COMMIT, by: 'tess' },
      { type: 'run.ended', stopReason: 'CANNOT_START', detail: '' },
    ],
    'an approved story has not landed',
  ],
  ['with a question is kept', asked('US-001'), 'a story waits for an answer'],
  [
    'with a question that was cancelled is not kept',
    [...asked('US-001').slice(0, -1), { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' }],
    undefined,
  ],
  ['that failed without a commit is not kept', [...failed('US-001'), END], undefined],
])('a run %s', async ([, entries, why], { home }) => {
  expect((await findKeptRuns(home, [runOf(entries)])).get(RUN)).toBe(why);
});

it.for<[string, string[], JournalEntry[], string | undefined]>([
  ['on no other branch is kept', [], [], NOT_LANDED],
  ['on the branch of another run is kept', [`branch halo/${OTHER} halo/${RUN}`], [], NOT_LANDED],
  ['on the fetched branch of its pull request is kept', [`update-ref ${PULL} halo/${RUN}`], [], NOT_LANDED],
  ['on another branch is not kept', [`branch review halo/${RUN}`], [], undefined],
  ['merged into another branch is not kept', [`merge -q --no-ff --no-edit halo/${RUN}`], [], undefined],
  ['landed by halo is not kept', [], [{ type: 'run.landed', branch: 'main', from: BASE, to: COMMIT }], undefined],
])('a commit %s', async ([, commands, more, why], { home, repository }) => {
  const { run } = landedRun(repository, ...more);
  for (const command of commands)
    repository.git('-c', 'user.name=T', '-c', 'user.email=t@e.com', ...command.split(' '));
  expect((await findKeptRuns(home, [run])).get(RUN)).toBe(why);
});

it('a run is kept while an open run, or one that can be answered, builds on its commit or waits for it', async ({
  home,
  repository,
}) => {
  const { run, commit } = landedRun(repository);
  repository.git('branch', 'review', commit);
  const { repo } = run.state;
  const builder = runOf([], OTHER, { repo: { ...repo, base: commit } });
  const waiter = runOf([], OTHER, { needs: [{ run: RUN, now: 'open' }] });
  const why = `run ${OTHER} needs it`;
  expect((await findKeptRuns(home, [run, builder])).get(RUN)).toBe(why);
  expect((await findKeptRuns(home, [run, waiter])).get(RUN)).toBe(why);
  const asking = runOf(asked('US-001'), OTHER, { repo: { ...repo, base: commit } });
  expect((await findKeptRuns(home, [run, asking])).get(RUN)).toBe(why);
  const ended = { ...builder, state: { ...builder.state, status: 'ended' as const } };
  expect((await findKeptRuns(home, [run, ended])).get(RUN)).toBeUndefined();
});

it('a run is kept until its issues show its result', async ({ home }) => {
  const run = runOf([...failed('US-001'), END]);
  const reports = new IssueReportFiles(home);
  await reports.add(RUN);
  expect((await findKeptRuns(home, [run])).get(RUN)).toBe('its issues do not show its result yet');
  await reports.remove(RUN);
  expect((await findKeptRuns(home, [run])).size).toBe(0);
});

it('a run whose result was rejected is not kept', async ({ home, repository }) => {
  const { run, commit } = landedRun(repository);
  const decision = { verdict: 'rejected' as const, by: 'tess', tip: commit };
  expect((await findKeptRuns(home, [{ ...run, state: { ...run.state, decision } }])).size).toBe(0);
});

it.for<[string, Partial<RunState['repo']>]>([
  ['its repository is gone', { source: '/nowhere/shop' }],
  ['its repository is at a URL', { source: 'https://example.com/shop.git' }],
])('a run with a commit is kept if %s', async ([, repo], { home, repository }) => {
  const { run } = landedRun(repository);
  const moved = { ...run, state: { ...run.state, repo: { ...run.state.repo, ...repo } } };
  expect((await findKeptRuns(home, [moved])).get(RUN)).toMatch(/^its commits have not landed/);
});

it('a run with a commit that its repository lacks, or that no repository can have, keeps no other run', async ({
  home,
  repository,
}) => {
  const { run } = landedRun(repository);
  for (const tip of [COMMIT, '--all', 'main']) {
    const broken = { ...run, state: { ...run.state, tip } };
    const found = await findKeptRuns(home, [broken, runOf([...failed('US-001'), END], OTHER)]);
    expect([...found]).toEqual([[RUN, NOT_LANDED]]);
  }
});
