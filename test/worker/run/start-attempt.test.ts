import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { planStory } from '../../../src/core/run/plan.ts';
import { nextJobs } from '../../../src/worker/run/next-jobs.ts';
import { decideStart, type StartInputs } from '../../../src/worker/run/start-attempt.ts';
import { BASE, created, failed, passed, stateOf } from '../../support/journal.ts';

const NOW = Date.UTC(2030, 0, 1);
const { config } = resolveConfig({ cwd: '/' });
const FACTS: StartInputs = {
  self: 'this-1',
  image: 'sha256:1',
  start: { engine: { name: 'build-2', id: 'x' } },
  policies: config,
  now: NOW,
};
const story = 'US-001';
const started = (worker: string, attempt = 1): JournalEntry => ({
  type: 'story.started',
  ...{ story, attempt, epoch: attempt, base: BASE, worker },
});

const stateAfter = (...entries: JournalEntry[]) => stateOf(created('r', 2), { type: 'run.started' }, ...entries);

function decide(entries: JournalEntry[], facts: Partial<StartInputs> = {}) {
  const state = stateAfter(...entries);
  const planned = planStory(state, 0);
  if (planned === undefined) throw new Error('nothing is planned');
  return decideStart(state, planned, { ...FACTS, ...facts });
}

describe('nextJobs', () => {
  const engine = { name: 'build-2', id: 'x' };
  const on: JournalEntry = { ...started('this-1'), engine } as JournalEntry;
  const retry = (of: 'infrastructure' | 'provider'): JournalEntry => ({
    type: 'retry.scheduled',
    ...{ story, attempt: 1, class: of, rule: 'wait', nth: 1, of: 5, notBefore: new Date(NOW).toISOString(), why: 'x' },
  });

  it('avoid the engine on which an attempt failed, unless another one would have failed, too', () => {
    const avoided = (...entries: JournalEntry[]) => nextJobs(stateAfter(...entries), NOW)[0]?.avoid;
    expect(avoided(on, retry('infrastructure'))).toBe('build-2');
    expect(avoided(on, retry('provider'))).toBeUndefined();
    expect(avoided(started('this-1'), retry('infrastructure'))).toBeUndefined();
    // It could not start there, for example without its image.
    const last = { story, engine: 'build-3' };
    expect(nextJobs(stateAfter(on, retry('infrastructure')), NOW, last)[0]?.avoid).toBe('build-3');
    expect(nextJobs(stateAfter(on, retry('provider')), NOW, last)[0]?.avoid).toBeUndefined();
  });
});

describe('decideStart', () => {
  it('starts a story with the next epoch on the tip of the run', () => {
    const entry = {
      type: 'story.started',
      story,
      attempt: 1,
      epoch: 1,
      base: BASE,
      worker: 'this-1',
      engine: { name: 'build-2', id: 'x' },
      image: 'sha256:1',
    };
    expect(decide([])).toEqual({ kind: 'start', entry });
  });

  it('omits an image that this machine does not have', () => {
    expect(decide([], { image: undefined })).not.toHaveProperty('entry.image');
  });

  it('counts a new attempt after a failure, but not after the death of a worker', () => {
    expect(decide(failed(story))).toMatchObject({ entry: { attempt: 2, epoch: 2 } });
    const taken = decide([started('other-1')]);
    expect(taken).toMatchObject({ kind: 'start', entry: { attempt: 1, epoch: 2, workerDied: true } });
  });

  it('does not treat a story as abandoned that its worker returned', () => {
    const returned: JournalEntry = { type: 'story.returned', story, attempt: 1 };
    expect(decide([started('other-1'), returned])).not.toHaveProperty('entry.workerDied');
    expect(decide([started('this-1'), returned])).toMatchObject({ kind: 'start' });
  });

  it('does not restart a story that this process started and has not ended', () => {
    expect(decide([started('this-1')])).toEqual({ kind: 'running-here' });
  });

  it('ends a story after the configured number of consecutive worker crashes', () => {
    const crashes = 3;
    const facts = { policies: { ...config, retry: { ...config.retry, crashes } } };
    const deaths = Array.from({ length: crashes }, (_, index) => started(`other-${index}`));
    expect(decide(deaths.slice(1), facts)).toMatchObject({ kind: 'start' });
    expect(decide(deaths, facts)).toMatchObject({
      kind: 'give-up',
      entry: {
        type: 'story.ended',
        verdict: 'failed',
        stopReason: 'INFRASTRUCTURE',
        summary: 'workers died in the middle of this story, 3 times in a row',
        failure: { class: 'infrastructure', rule: 'halt', cause: 'worker-died' },
      },
    });
  });
});

describe('nextJobs', () => {
  const second = 'US-002';
  const at = (ms: number) => new Date(NOW + ms).toISOString();

  it.each<[string, JournalEntry[], ReturnType<typeof nextJobs>]>([
    ['a new run starts its first story', [], [{ runId: 'r', ordinal: 0, attempt: 1, delayMs: 0 }]],
    ['a passed story is followed by the next', passed(story), [{ runId: 'r', ordinal: 1, attempt: 1, delayMs: 0 }]],
    ['a failed story is repeated', failed(story), [{ runId: 'r', ordinal: 0, attempt: 2, delayMs: 0 }]],
    [
      'a retry waits until its time',
      [
        ...failed(story),
        {
          type: 'retry.scheduled',
          ...{ story, attempt: 1, class: 'gate', rule: 'hint', nth: 1, of: 2, why: '' },
          ...{ at: at(0), notBefore: at(5_000) },
        },
      ],
      [{ runId: 'r', ordinal: 0, attempt: 2, delayMs: 5_000 }],
    ],
    [
      'hazard 33: a retry that was decided while the clock was a day ahead does not wait for that day',
      [
        ...failed(story),
        {
          type: 'retry.scheduled',
          ...{ story, attempt: 1, class: 'gate', rule: 'hint', nth: 1, of: 2, why: '' },
          ...{ at: at(86_400_000), notBefore: at(86_405_000) },
        },
      ],
      [{ runId: 'r', ordinal: 0, attempt: 2, delayMs: 0 }],
    ],
    ['a paused run starts nothing', [{ type: 'run.paused', by: 'me', now: false }], []],
    [
      'a run with nothing left ends by one job, even if it is paused',
      [...passed(story), ...passed(second), { type: 'run.paused', by: 'me', now: false }],
      [{ runId: 'r', ordinal: 2, attempt: 1 }],
    ],
  ])('%s', (_name, entries, jobs) => expect(nextJobs(stateAfter(...entries), NOW)).toEqual(jobs));
});
