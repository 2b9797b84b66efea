import { expect, test } from 'vitest';
import { countTakers, hasNothingRunning, limitedBy, type FleetLimits } from '../../../src/core/run/fleet-limit.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { created, stateOf } from '../../support/journal.ts';

interface Facts {
  user?: string;
  agent?: string;
  mirror?: string;
  /** Stories under way, of two. */
  under?: number;
  more?: JournalEntry[];
}

function run(runId: string, { user = 'ann', agent = 'codex', mirror = 'shop', under = 0, more = [] }: Facts): RunState {
  const begun = { ...created(runId), user, agent, parallel: 2 } as JournalEntry & { type: 'run.created' };
  const starts = Array.from({ length: under }, (_, index): JournalEntry => {
    return { type: 'story.started', story: `US-00${index + 1}`, attempt: 1, epoch: index + 1, base: begun.repo.base };
  });
  const entries = [{ ...begun, repo: { ...begun.repo, mirror } }, ...starts, ...more];
  return stateOf(...entries);
}

const limits = (more: Partial<FleetLimits>): FleetLimits => ({ perAgent: {}, ...more });
const waiting = run('aaaa0001', {});

test.each<[string, RunState, Partial<FleetLimits>, string | undefined]>([
  ['no limit', run('bbbb', { under: 2 }), {}, undefined],
  ['a limit that is not reached', run('bbbb', { under: 1 }), { max: 2 }, undefined],
  ['the limit of the fleet', run('bbbb', { under: 2, user: 'ben', mirror: 'api' }), { max: 2 }, 'fleet.max = 2'],
  ['that of its repository', run('bbbb', { under: 1, user: 'ben' }), { perRepo: 1 }, 'fleet.per_repo = 1'],
  ['that of another repository', run('bbbb', { under: 1, mirror: 'api' }), { perRepo: 1 }, undefined],
  ['that of its user', run('bbbb', { under: 2, mirror: 'api' }), { perUser: 2 }, 'fleet.per_user = 2'],
  ['that of its agent', run('bbbb', { under: 1 }), { perAgent: { codex: 1 } }, 'fleet.per_agent.codex = 1'],
  ['stories of another agent', run('bbbb', { under: 1, agent: 'claude' }), { perAgent: { codex: 1 } }, undefined],
  ['that of another agent', run('bbbb', { under: 1, agent: 'claude' }), { perAgent: { claude: 1 } }, undefined],
])('a run beside a running one is limited by %s', (_what, other, most, held) => {
  expect(limitedBy(waiting, [waiting, other], limits(most))).toBe(held);
});

test('a story counts for the agent that its attempt has', () => {
  const choice = { agent: 'claude', by: 'story' } as const;
  const other = run('bbbb', { under: 2 });
  const stories = other.stories.map((story, index) => (index === 0 ? { ...story, choice } : story));
  const chosen = { ...other, stories };
  expect(limitedBy(waiting, [waiting, chosen], limits({ perAgent: { codex: 2 } }))).toBeUndefined();
  expect(limitedBy(waiting, [waiting, chosen], limits({ perAgent: { codex: 1 } }))).toBe('fleet.per_agent.codex = 1');
});

test('a run that has nothing to start is not limited', () => {
  const busy = run('bbbb', { under: 2 });
  expect(limitedBy(busy, [waiting, busy], limits({ max: 2 }))).toBeUndefined();
  const paused = run('cccc', { more: [{ type: 'run.paused', now: false, by: 'ann' }] });
  expect(limitedBy(paused, [paused, busy], limits({ max: 2 }))).toBeUndefined();
  const ended = run('dddd', { more: [{ type: 'run.ended', stopReason: 'USER_ABORT', detail: '' }] });
  expect(limitedBy(ended, [ended, busy], limits({ max: 2 }))).toBeUndefined();
});

test('a run waits for a worker unless one of its stories runs, or it has ended', () => {
  const ended: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' };
  const found = [waiting, run('bbbb', { under: 1 }), run('cccc', { more: [ended] })].map(hasNothingRunning);
  expect(found).toEqual([true, false, false]);
});

test('the workers of its engines would take its stories, or only the process that owns it', () => {
  const worker = (
    id: string,
    engine: string | undefined,
    part: { takes?: 'own'; draining?: true; away?: true } = {},
  ) => ({
    ...{ id, engine, takes: 'any' as const, draining: false },
    ...part,
  });
  const running = [
    worker('1', 'local'),
    worker('2', 'b'),
    worker('3', 'b', { draining: true }),
    worker('4', undefined),
    worker('6', 'd', { away: true }),
    worker('5', 'local', { takes: 'own' }),
  ];
  expect(countTakers({}, running)).toEqual({ workers: 2, draining: 0 });
  expect(countTakers({ engines: ['b'] }, running)).toEqual({ workers: 2, draining: 1 });
  expect(countTakers({ engines: ['c'] }, running)).toEqual({ workers: 1, draining: 0 });
  expect(countTakers({ engines: ['d'] }, running)).toEqual({ workers: 1, draining: 0, away: 1 });
  expect(countTakers({ owner: '5', engines: ['c'] }, running)).toEqual({ workers: 1, draining: 0 });
  expect(countTakers({ owner: 'gone' }, running)).toEqual({ workers: 2, draining: 0 });
});
