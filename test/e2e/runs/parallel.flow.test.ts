import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { verify } from '../../../src/features/evidence/api/verify-commit.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { storyKey } from '../../../src/core/run/story-key.ts';
import { OK, openHalo, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';

let halo: TestHalo;
let repository: TestRepository;

beforeAll(async () => void (halo = await openHalo({ concurrency: 3 })));
beforeEach(() => void (repository = newRepository()));
afterAll(() => halo.close());

const PARALLEL = ['run.parallel=2'];
/** Reads from its prompt which story it is; `then` may use $story. */
const each = (then: string) => `story=$(grep -oE 'Story [A-Z]+' | head -n 1 | cut -d ' ' -f 2); ${then}; ${OK}`;

/** The end of a run whose first two stories wait for each other. */
async function runTogether(...request: Parameters<TestHalo['submit']>): Promise<RunState> {
  const runId = await halo.submit(...request);
  await untilAgents(runId, 2);
  await release(runId);
  return halo.untilEnd(runId);
}

async function untilAgents(runId: string, count: number): Promise<void> {
  const launched = () => halo.journal(runId).filter(({ type }) => type === 'agent.launched');
  await vi.waitFor(() => expect(launched()).toHaveLength(count), PATIENCE);
}

function seqOf(events: JournalEvent[], type: JournalEvent['type'], story: string): number {
  return events.find((event) => event.type === type && 'story' in event && event.story === story)!.seq;
}

describe('stories that do not depend on each other', () => {
  it('run at the same time, and a story that needs both builds on both', async () => {
    const stories = [{ id: 'A' }, { id: 'B' }, { id: 'C', dependsOn: ['A', 'B'] }];
    const script = each(`if [ $story = C ]; then cat A.txt B.txt > C.txt; else ${HOLD}; echo $story > $story.txt; fi`);
    const state = await runTogether(repository.root, stories, scripted(script, ['ls *.txt'], PARALLEL));
    expect(state).toMatchObject({ stopReason: 'SUCCESS', detail: '3 of 3 stories passed' });
    const events = halo.journal(state.runId);
    const started = (story: string) => seqOf(events, 'story.started', story);
    const ended = (story: string) => seqOf(events, 'story.ended', story);
    expect(Math.max(started('A'), started('B'))).toBeLessThan(Math.min(ended('A'), ended('B')));
    expect(started('C')).toBeGreaterThan(Math.max(ended('A'), ended('B')));
    const branch = `halo/${state.runId}`;
    expect(repository.git('show', `${branch}:C.txt`)).toBe('A\nB');
    expect(repository.git('rev-list', '--count', '--no-merges', `main..${branch}`)).toBe('3');

    // One of the two was merged onto the other: its record says on what it began, and it can be proven again.
    const merged = events.find((event) => event.type === 'story.merged')!;
    const commit = state.stories.find(({ id }) => id === merged.story)!.commit!;
    const proof = JSON.parse(repository.git('notes', '--ref=halo', 'show', commit)) as Record<string, unknown>;
    expect(proof).toMatchObject({ commit, base: merged.onto, startedFrom: state.repo.base });
    const checks: (boolean | null)[] = [];
    const { signal } = new AbortController();
    const query = { target: state.runId, folder: repository.root, signal };
    for await (const verified of verify(halo.host, query)) checks.push(...verified.checks.map(({ ok }) => ok));
    expect(checks.length).toBeGreaterThan(10);
    expect(checks).not.toContain(false);
  });

  it('pass their gates together before the second one lands', async () => {
    const script = each(`${HOLD}; echo $story > $story.txt`);
    const gates = ['echo $(ls); test ! -e A.txt || test ! -e B.txt'];
    const settings = scripted(script, gates, [...PARALLEL, 'run.on_failure="continue"']);
    const state = await runTogether(repository.root, [{ id: 'A' }, { id: 'B' }], settings);
    expect(state).toMatchObject({ stopReason: 'PARTIAL' });
    expect(state.stories.map(({ stopReason }) => stopReason).sort()).toEqual(['GATE_FAILED', 'SUCCESS']);
    expect(repository.git('rev-list', '--count', `main..halo/${state.runId}`)).toBe('1');
    expect(halo.journal(state.runId).map(({ type }) => type)).toContain('story.merged');
  });

  it('are repeated on the landed result if they conflict, with the conflicts in the prompt, without using up an attempt', async () => {
    // The one that is repeated finds the file of the other.
    const script = each(`test -e both.txt || { ${HOLD}; }; echo $story >> both.txt`);
    const state = await runTogether(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(script, ['true'], PARALLEL));
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const again = state.stories.find(({ conflicts }) => conflicts === 1)!;
    expect(again.attempts).toBe(2);
    expect(halo.readFile(state.runId, `artifacts/${again.key}/2/prompt.md`)).toContain('both.txt');
    expect(repository.git('show', `halo/${state.runId}:both.txt`).split('\n').sort()).toEqual(['A', 'B']);
  });

  it('are merged by git alone with any attributes in the tree', async () => {
    repository.write('.gitattributes', '* merge=union\n');
    repository.write('list.txt', 'one\n');
    repository.commit('attributes');
    const script = each(`grep -q '[AB]' list.txt || { ${HOLD}; }; echo $story >> list.txt`);
    const state = await runTogether(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(script, ['true'], PARALLEL));
    expect(state.stories.map(({ conflicts }) => conflicts).sort()).toEqual([0, 1]);
  });
});

describe('the branch of a run', () => {
  it('hazard 26: is never overwritten where another process has moved it', async () => {
    const foreign = commitTree('main^{tree}', '-p', 'main', '-m', 'by hand');
    const script = each(`${HOLD}; echo $story > $story.txt`);
    const runId = await halo.submit(repository.root, [{ id: 'A' }], scripted(script));
    await untilAgents(runId, 1);
    repository.git('update-ref', `refs/heads/halo/${runId}`, foreign);
    await release(runId);
    const state = await halo.untilEnd(runId);
    expect(state).toMatchObject({ stopReason: 'CONFLICT', stories: [{ conflicts: 0 }] });
    expect(repository.git('rev-parse', `halo/${runId}`)).toBe(foreign);
  });

  it('finds a story that landed before its worker died without a journal event, also for the other stories', async () => {
    const script = each(`${HOLD}; echo $story > $story.txt`);
    const stories = [{ id: 'A' }, { id: 'B' }];
    const runId = await halo.submit(repository.root, stories, scripted(script, ['true'], PARALLEL));
    await untilAgents(runId, 2);
    const message = `A\n\nHalo-Run: ${runId}\nHalo-Story: A\nHalo-Story-Key: ${storyKey('A')}\nHalo-Attempt: 1`;
    const landed = commitTree('main^{tree}', '-p', 'main', '-m', message);
    const ref = `refs/heads/halo/${runId}`;
    repository.git('update-ref', ref, landed);
    const { repo, stories: made } = (await halo.operations.getRun({ runId })).state;
    const mirror = join(halo.home, 'repos', repo.mirror, 'mirror.git');
    repository.git(`--git-dir=${mirror}`, 'fetch', '-q', repository.root, `${ref}:${ref}`);
    await release(runId, made[1]!.key);
    const landedB = () => halo.journal(runId).some((event) => event.type === 'story.ended' && event.story === 'B');
    await vi.waitFor(() => expect(landedB()).toBe(true), PATIENCE);
    await release(runId);
    const state = await halo.untilEnd(runId);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ commit: landed, attempts: 1 }, {}] });
    expect(repository.git('log', '--format=%s', `main..halo/${runId}`).split('\n')).toEqual([
      'feat: [B] - Story B',
      'A',
    ]);
  });
});

it('hazard 24: concurrent stories of two runs in one repository are independent', async () => {
  const settings = scripted(each(`${HOLD}; echo $story >> both.txt`));
  const ids = [
    await halo.submit(repository.root, [{ id: 'A' }], settings),
    await halo.submit(repository.root, [{ id: 'B' }], settings),
  ];
  for (const id of ids) await untilAgents(id, 1);
  for (const id of ids) await release(id);
  const states = await Promise.all(ids.map((id) => halo.untilEnd(id)));
  expect(states).toMatchObject([{ stopReason: 'SUCCESS' }, { stopReason: 'SUCCESS' }]);
  expect(ids.map((id) => repository.git('show', `halo/${id}:both.txt`))).toEqual(['A', 'B']);
});

/** A commit that no halo made, without touching the checkout. */
function commitTree(...words: string[]): string {
  return repository.git('-c', 'user.name=Tess', '-c', 'user.email=tess@example.com', 'commit-tree', ...words);
}
