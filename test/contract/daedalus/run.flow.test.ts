import { existsSync, lstatSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
let repository: TestRepository;

beforeAll(async () => {
  halo = await openHalo();
});
afterAll(() => halo.close());
beforeEach(() => {
  repository = newRepository();
});

const inPrd = (file: string) => join(repository.root, '.halo/prds/cart', file);
const statuses = () => parsePrd(readFileSync(inPrd('prd.json')), 'prd.json').stories.map(({ status }) => status);

interface StoryFlags {
  id: string;
  priority: number;
  inProgress?: boolean;
}

function writePrd(stories: StoryFlags[]): void {
  const userStories = stories.map((story) => ({
    title: `Title of ${story.id}`,
    description: 'As a user, I want it.',
    acceptanceCriteria: ['it works'],
    passes: false,
    inProgress: false,
    ...story,
  }));
  repository.write('.halo/prds/cart/prd.json', JSON.stringify({ project: 'Shop', description: '', userStories }));
}

async function run(settings: string[]) {
  const prd = { path: inPrd('prd.json'), bytes: new Uint8Array(readFileSync(inPrd('prd.json'))) };
  const request = { prd, repos: [repository.root], set: settings, profile: undefined, allowDirty: false };
  const [submitted] = (await halo.operations.submit(request)).runs;
  return halo.untilEnd(submitted!.runId);
}

const subjects = (runId: string) =>
  repository.git('log', '--reverse', '--format=%s', `main..halo/${runId}`).split('\n');

describe('a run of a PRD with a name', () => {
  it('runs the story in progress first, then the lowest priority, and commits each as feat: [US-XXX] - [Title]', async () => {
    writePrd([
      { id: 'US-003', priority: 3 },
      { id: 'US-001', priority: 1 },
      { id: 'US-002', priority: 2, inProgress: true },
    ]);
    const state = await run(scripted(`echo "$$" >> log.txt; ${OK}`));
    expect(state.stopReason).toBe('SUCCESS');
    expect(subjects(state.runId)).toEqual([
      'feat: [US-002] - Title of US-002',
      'feat: [US-001] - Title of US-001',
      'feat: [US-003] - Title of US-003',
    ]);
    expect(statuses()).toEqual(['done', 'done', 'done']);
    expect(readFileSync(inPrd('prd.json'), 'utf8')).not.toContain('"inProgress":true');
  });

  it('persists pending, in_progress and passed in the file, which contains them after the run', async () => {
    writePrd([
      { id: 'US-001', priority: 1 },
      { id: 'US-002', priority: 2 },
      { id: 'US-003', priority: 3 },
    ]);
    const gate = '! grep -q second log.txt';
    const script = `if grep -q US-002; then echo second >> log.txt; else echo other >> log.txt; fi; ${OK}`;
    const failed = await run(scripted(script, [gate]));
    expect(failed.stopReason).not.toBe('SUCCESS');
    expect(statuses()).toEqual(['done', 'in_progress', 'pending']);
    const again = await run(scripted(`echo more >> log.txt; ${OK}`));
    // The second run starts from the branch of the first, which has US-001.
    expect(subjects(again.runId)).toEqual([
      'feat: [US-001] - Title of US-001',
      'feat: [US-002] - Title of US-002',
      'feat: [US-003] - Title of US-003',
    ]);
    expect(statuses()).toEqual(['done', 'done', 'done']);
  });

  it('keeps agent.log, events.jsonl and progress.md in the folder of the PRD, and keeps files of the user there', async () => {
    writePrd([{ id: 'US-001', priority: 1 }]);
    const first = await run(scripted(`echo more >> log.txt; ${OK}`));
    for (const file of ['agent.log', 'events.jsonl', 'progress.md'])
      expect(readFileSync(inPrd(file), 'utf8'), file).toBe(halo.readFile(first.runId, file));
    expect(readFileSync(inPrd('progress.md'), 'utf8')).toContain('1 of 1 stories passed');
    expect(repository.git('status', '--short', '-uall').split('\n')).toEqual([
      ...['?? .halo/prds/.gitignore', '?? .halo/prds/cart/prd.json'],
    ]);
    rmSync(inPrd('agent.log'));
    writeFileSync(inPrd('agent.log'), 'mine');
    writePrd([{ id: 'US-002', priority: 1 }]);
    repository.write('.halo/prds/cart/prd.md', 'thoughts');
    repository.git('add', '.halo');
    repository.git('commit', '-qm', 'the PRD');
    const second = await run(scripted(`echo more >> log.txt; ${OK}`));
    expect(second.stopReason).toBe('SUCCESS');
    expect(readFileSync(inPrd('agent.log'), 'utf8')).toBe('mine');
    expect(lstatSync(inPrd('progress.md')).isSymbolicLink()).toBe(true);
    expect(readlinkSync(inPrd('progress.md'))).toContain(second.runId);
    repository.write('.halo/prds/cart/prd.md', 'more thoughts');
    await halo.operations.land({ runId: second.runId });
    expect(readFileSync(inPrd('prd.md'), 'utf8')).toBe('more thoughts');
    expect(repository.git('log', '-1', '--format=%s')).toBe('feat: [US-002] - Title of US-002');
  });

  it('runs every check before a story passes; a failed check prevents the commit, and its output is in log and report', async () => {
    writePrd([{ id: 'US-001', priority: 1 }]);
    const gates = ['echo first check', 'echo "expected 2 but got 3"; exit 4', 'true'];
    const state = await run(scripted(`echo more >> log.txt; ${OK}`, gates));
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', tip: state.repo.base });
    expect(statuses()).toEqual(['in_progress']);
    const journal = halo.readFile(state.runId, 'journal.jsonl').trim().split('\n');
    const ended = journal
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((e) => e['type'] === 'gate.ended');
    expect(ended.slice(0, 2).map(({ command, exitCode }) => [command, exitCode])).toEqual([
      [gates[0], 0],
      [gates[1], 4],
    ]);
    expect(ended[1]?.['tail']).toContain('expected 2 but got 3');
    expect(readFileSync(inPrd('agent.log'), 'utf8')).toContain('expected 2 but got 3');
    expect(readFileSync(inPrd('progress.md'), 'utf8')).toContain('  > expected 2 but got 3\n');
  });

  it('uses its own branch, and a separate worktree with [land] mode', async () => {
    writePrd([{ id: 'US-001', priority: 1 }]);
    const settings = scripted(`echo more >> log.txt; ${OK}`, ['true'], ['land.mode=worktree']);
    writeFileSync(join(halo.home, 'worktrees'), 'in the way');
    const detail = expect.stringContaining('not checked out: ') as string;
    expect(await run(settings)).toMatchObject({ stopReason: 'SUCCESS', detail });
    rmSync(join(halo.home, 'worktrees'));
    writePrd([{ id: 'US-001', priority: 1 }]);
    const state = await run(settings);
    const worktree = join(halo.home, 'worktrees', state.runId);
    expect(state.detail).toBe(`1 of 1 stories passed, checked out in ${worktree}`);
    expect(readFileSync(join(worktree, 'log.txt'), 'utf8')).toBe('more\n');
    expect(repository.git('rev-parse', `halo/${state.runId}`)).toBe(state.tip);
    expect(repository.git('-C', worktree, 'rev-parse', 'HEAD')).toBe(state.tip);
    expect(repository.git('-C', worktree, 'status', '--porcelain')).toBe('');
    expect(repository.git('log', '--format=%s', 'main')).toBe('start');
    expect(existsSync(join(repository.root, 'log.txt'))).toBe(false);
  });

  it('starts a fresh session of the agent for each story and each attempt, with earlier results in the prompt', async () => {
    writePrd([
      { id: 'US-001', priority: 1 },
      { id: 'US-002', priority: 2 },
    ]);
    const fresh = 'test ! -e "$HOME/session" && test ! -e bad.txt || exit 1; touch "$HOME/session"';
    const work = 'if grep -q "last attempt failed"; then echo more >> log.txt; else echo bad > bad.txt; fi';
    const gate = '! cat bad.txt || { echo "there is a bad file"; exit 1; }';
    const state = await run(scripted(`${fresh}; ${work}; ${OK}`, [gate], ['retry.attempts=2']));
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }, { attempts: 2 }] });
    const prompt = (story: string, attempt: number) =>
      halo.readFile(state.runId, `artifacts/${state.stories.find(({ id }) => id === story)?.key}/${attempt}/prompt.md`);
    expect(prompt('US-001', 1)).not.toMatch(/Done so far|last attempt/);
    expect(prompt('US-001', 2)).toMatch(/The last attempt failed\nGATE_FAILED[^]*there is a bad file/);
    expect(prompt('US-002', 1)).toContain('Done so far, committed already\n- US-001: Title of US-001. Did it.');
    expect(prompt('US-002', 1)).not.toContain('last attempt');
  });
});

// Large outputs are in test/store.
describe('a run of a PRD with a name, whose agent prints much,', skipFor(belowFull()), () => {
  it('keeps all of a large output, and every event with its number, its time and its type', async () => {
    writePrd([{ id: 'US-001', priority: 1 }]);
    const state = await run(scripted(`cat > /dev/null; seq 100000; echo more >> log.txt; ${OK}`));
    expect(state.stopReason).toBe('SUCCESS');
    const lines = readFileSync(inPrd('events.jsonl'), 'utf8').trim().split('\n');
    expect(lines.slice(0, 100_000)).toEqual(Array.from({ length: 100_000 }, (_, index) => String(index + 1)));
    const events = halo.readFile(state.runId, 'journal.jsonl').trim().split('\n');
    for (const [index, line] of events.entries())
      expect(JSON.parse(line)).toMatchObject({
        v: 1,
        seq: index + 1,
        at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        type: expect.stringMatching(/^\w+\.\w+$/) as string,
      });
  });
});
