import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
let repository: TestRepository;

beforeAll(async () => (halo = await openHalo({ concurrency: 3 })));
afterAll(() => halo.close());
beforeEach(() => (repository = newRepository()));

/** What each story does, by the letter of its title. */
const script = (works: Record<string, string>) =>
  `case $(grep -oE 'Story [A-Z]' | head -n 1) in ${Object.entries(works)
    .map(([name, work]) => `*${name}) ${work};;`)
    .join(' ')} esac; ${OK}`;

/** A run whose stories were all made from the same commit, and wait for a person. */
async function heldRun(
  works: Record<string, string>,
  { gates = ['true'], more = [] as string[] } = {},
): Promise<RunState> {
  const stories = Object.keys(works).map((id) => ({ id }));
  const settings = scripted(script(works), gates, ['approval.mode=story', 'run.parallel=3', ...more]);
  const held = await halo.run(repository.root, stories, settings);
  expect(held.stories.map(({ progress }) => progress)).toEqual(stories.map(() => 'needs_human'));
  return held;
}

const agentsIn = (events: JournalEvent[]) =>
  events.filter((event) => event.type === 'phase.started' && event.phase === 'agent').length;
const filesAt = (commit: string) => repository.git('ls-tree', '-r', '--name-only', commit).split('\n');

describe('a story that is approved after another one has landed', () => {
  it('is merged onto it, passes the gates again and lands, without another request to the agent or the user', async () => {
    const { runId } = await heldRun(
      { A: 'echo a > a', B: 'echo b > b', C: 'echo c > c' },
      { gates: ['test ! -e stop'] },
    );
    const { operations } = halo;
    expect(await operations.approve({ runId, story: 'A' })).toMatchObject({ landed: true, goesOn: false });
    // C still waits, and the run has ended for it: B lands all the same.
    expect(await operations.actingAs('ann@desk').approve({ runId, story: 'B' })).toMatchObject({
      landed: false,
      goesOn: true,
    });
    const ended = await halo.untilEnd(runId);
    expect(ended).toMatchObject({
      stopReason: 'NEEDS_HUMAN',
      stories: [{ progress: 'passed' }, { progress: 'passed', attempts: 1 }, { progress: 'needs_human' }],
    });
    expect(ended.stories[1]).not.toHaveProperty('approved');
    const [, landed] = ended.stories;
    expect(filesAt(ended.tip)).toEqual(expect.arrayContaining(['a', 'b']));
    expect(landed?.commit).toBe(ended.tip);
    const note = JSON.parse(repository.git('notes', '--ref=halo', 'show', ended.tip)) as object;
    const base = repository.git('rev-parse', `${ended.tip}^`);
    expect(note).toMatchObject({
      approvedBy: 'ann@desk',
      base,
      startedFrom: ended.repo.base,
      gates: [{ exitCode: 0 }],
    });
    expect(repository.git('log', '-1', '--format=%B', ended.tip)).toContain('Did it.');
    const events = halo.journal(runId);
    expect(agentsIn(events)).toBe(3);
    expect(events.filter(({ type }) => type === 'approval.given')).toHaveLength(1);
    expect(halo.readFile(runId, 'agent.log')).toMatch(/APPROVED .+ by ann@desk: to be merged onto/);
    expect(await operations.approve({ runId, story: 'B' })).toMatchObject({ changed: false, landed: true });
    await expect(operations.reject({ runId, story: 'B', reason: 'late' })).rejects.toMatchObject({
      code: 'LAND_REFUSED',
    });
  });

  it('is repeated on the landed result if both changed the same place, and waits for approval again', async () => {
    const { runId } = await heldRun({ A: 'echo a >> x', B: 'echo b >> x' });
    const { operations } = halo;
    await operations.approve({ runId, story: 'A' });
    await operations.approve({ runId, story: 'B' });
    const again = await halo.untilEnd(runId);
    expect(again).toMatchObject({ stopReason: 'NEEDS_HUMAN', stories: [{}, { attempts: 2, held: { paths: [] } }] });
    expect((await operations.readDiff({ runId, story: 'B' })).toString()).toContain('+b');
    const prompt = halo.readFile(runId, `artifacts/${again.stories[1]!.key}/2/prompt.md`);
    expect(prompt).toContain('changed the same places');
    expect(await operations.approve({ runId, story: 'B' })).toMatchObject({ landed: true });
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('show', `halo/${runId}:x`)).toBe('a\nb');
  });

  it('fails if the gates reject the merge, and is retried like any story', async () => {
    const gates = ['test ! -e a || test ! -e b'];
    const { runId } = await heldRun(
      { A: 'echo a > a', B: 'test -e a && echo c > c || echo b > b' },
      { gates, more: ['retry.attempts=2'] },
    );
    await halo.operations.approve({ runId, story: 'A' });
    await halo.operations.approve({ runId, story: 'B' });
    const again = await halo.untilEnd(runId);
    expect(again.stories[1]).toMatchObject({ progress: 'needs_human', attempts: 2, failures: { gate: 1 } });
    expect((await halo.operations.readDiff({ runId, story: 'B' })).toString()).toContain('+++ b/c');
  });

  it('needs another approval if the merge changes a file that the user did not see', async () => {
    repository.write('old', Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n'));
    repository.commit('a file');
    const { runId } = await heldRun({ A: 'git mv old new', B: 'echo more >> old' });
    await halo.operations.approve({ runId, story: 'A' });
    await halo.operations.approve({ runId, story: 'B' });
    const again = await halo.untilEnd(runId);
    expect(again).toMatchObject({ stopReason: 'NEEDS_HUMAN', stories: [{}, { attempts: 1, held: { paths: [] } }] });
    expect(again.stories[1]?.summary).toContain('the merge moved it to new');
    expect(await halo.operations.approve({ runId, story: 'B' })).toMatchObject({ landed: true });
    expect(repository.git('show', `halo/${runId}:new`)).toContain('more');
  });

  it('does not land after its run is cancelled', async () => {
    const { runId } = await heldRun(
      { A: 'echo a > a', B: 'echo b > b' },
      { gates: ['test ! -e a || test ! -e b || sleep 30'] },
    );
    const { operations } = halo;
    await operations.approve({ runId, story: 'A' });
    await operations.approve({ runId, story: 'B' });
    for await (const { event } of await operations.followEvents({ runId, after: 0, follow: true }))
      if (event.type === 'story.started' && event.epoch > 2) break;
    await operations.cancel({ runId });
    const ended = await halo.untilEnd(runId);
    expect(ended).toMatchObject({ stopReason: 'USER_ABORT', stories: [{}, { progress: 'cancelled' }] });
    expect(ended.tip).toBe(ended.stories[0]?.commit);
    expect(repository.git('rev-parse', `halo/${runId}`)).toBe(ended.tip);
    await expect(operations.approve({ runId, story: 'B' })).rejects.toMatchObject({ code: 'LAND_REFUSED' });
  });
});
