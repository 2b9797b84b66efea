import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { postponeAttempt } from '../../../src/core/failure/model-pause.ts';
import { commandOf, landingStep, nextSteps, toCommands } from '../../../src/core/run/next-steps.ts';
import { isStillPlanned, planNext } from '../../../src/core/run/plan.ts';
import { isOver, questionLines } from '../../../src/core/run/questions.ts';
import { openFeedback } from '../../../src/core/run/reviewed-story.ts';
import { NO_USAGE } from '../../../src/core/agent.ts';
import {
  asked,
  attempted,
  COMMIT,
  created,
  failed,
  failing,
  gateFailure,
  held,
  passed,
  stateOf,
} from '../../support/journal.ts';

function plan(...entries: JournalEntry[]) {
  const next = planNext(stateOf(...entries));
  return next.kind === 'attempts'
    ? next.attempts.flatMap(({ story, attempt }) => [story.id, attempt])
    : [next.stopReason, next.detail];
}

const twice = (story: string) => [...failed(story), ...failed(story, 2)];
const onward: JournalEntry = { ...created('r', 3), onFailure: 'continue' };
const note = {
  class: 'gate',
  rule: 'hint',
  sign: { error: 'no', changed: true, denied: false, kind: 'gate' },
} as const;
const signed = (story: string) => failing(failed(story), { failure: note });
const opened: JournalEntry = { type: 'breaker.opened', reason: '1 failure in a row' };

describe('planNext', () => {
  it('starts the first story, and the next one when it has landed', () => {
    expect(plan(created('r', 2))).toEqual(['US-001', 1]);
    expect(plan(created('r', 2), ...passed('US-001'))).toEqual(['US-002', 1]);
  });

  it('starts only the selected stories, and ends when they have landed', () => {
    const first: JournalEntry = { ...created('r', 3), selected: ['US-002'] };
    expect(plan(first)).toEqual(['US-002', 1]);
    expect(plan(first, ...passed('US-002'))).toEqual(['SUCCESS', '1 of 1 stories passed']);
    expect(stateOf(first).stories.map(({ progress }) => progress)).toEqual(['skipped', 'pending', 'skipped']);
  });

  it('keeps the selection after a new PRD', () => {
    const first = { ...created('r', 2), selected: ['US-002'] };
    const { prd, prdPath } = created('r', 4);
    const replanned = { type: 'run.replanned' as const, by: 'me', prd, prdPath, changed: [] };
    expect(plan(first, replanned)).toEqual(['US-002', 1]);
    expect(plan(first, ...passed('US-002'), replanned)[0]).toBe('SUCCESS');
  });

  it('retries a failed story before starting another, until its attempts are used up', () => {
    expect(plan(created('r', 2), ...failed('US-001'))).toEqual(['US-001', 2]);
    expect(plan(created('r', 2), ...failed('US-001'), ...failed('US-001', 2))).toEqual([
      'ATTEMPTS_EXHAUSTED',
      'US-001: npm test exited with 1 (GATE_FAILED, 2 attempts)',
    ]);
  });

  it('ends a retried story as its first try does: with the reason of one failed attempt, or without attempts', () => {
    const stopped: JournalEntry[] = [{ ...created('r', 1), attempts: 1 }, ...failed('US-001', 1, 'halt')];
    expect(plan(...stopped)[0]).toBe('GATE_FAILED');
    const retried: JournalEntry[] = [
      ...stopped,
      { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '' },
      { type: 'run.retried', by: 'me', stories: ['US-001'] },
    ];
    expect(plan(...retried)).toEqual(['US-001', 2]);
    expect(plan(...retried, ...failed('US-001', 2, 'halt'))).toEqual(['GATE_FAILED', 'US-001: npm test exited with 1']);
    const twice = [...retried, ...failed('US-001', 2, 'hint'), ...failed('US-001', 3, 'halt')];
    expect(plan(...twice)[0]).toBe('ATTEMPTS_EXHAUSTED');
  });

  it('starts only the retried story while another story has failed finally', () => {
    const ended: JournalEntry = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: '' };
    const first = { ...created('r', 3), parallel: 3 } as JournalEntry;
    const stopped = [first, ...twice('US-001'), ...twice('US-002'), ended];
    const retried = [...stopped, { type: 'run.retried' as const, by: 'me', stories: ['US-002'] }];
    expect(plan(...retried)).toEqual(['US-002', 3]);
    const again = failed('US-002', 3, 'hint');
    expect(plan(...retried, ...again)).toEqual(['US-002', 4]);
    expect(plan(...retried, ...again, ...failed('US-002', 4))[0]).toBe('ATTEMPTS_EXHAUSTED');
  });

  it.each<[string, JournalEntry[], string | undefined]>([
    ['the failed one', [created('r', 2), ...failed('US-001'), ...failed('US-001', 2)], 'US-001'],
    ['the one that asks', [created('r', 2), ...passed('US-001'), ...held('US-002')], 'US-002'],
    ['the first failed one of a part', [onward, ...passed('US-001'), ...twice('US-002'), ...twice('US-003')], 'US-002'],
    ['the last one of a breaker', [created('r', 2), ...signed('US-001'), opened], 'US-001'],
    ['none of a success', [created('r', 1), ...passed('US-001')], undefined],
  ])('names the story that explains the end: %s', (_which, entries, story) => {
    const next = planNext(stateOf(...entries));
    expect(next.kind === 'end' && next.story).toBe(story);
  });

  it('waits for approval of a held commit, and continues or ends with the decision', () => {
    const waiting = [created('r', 2), { type: 'run.started' as const }, ...held('US-001')];
    const word = { story: 'US-001', attempt: 1, commit: COMMIT, by: 'me' };
    expect(plan(...waiting)[0]).toBe('NEEDS_HUMAN');
    expect(plan(...waiting, { type: 'story.approved', ...word })).toEqual(['US-002', 1]);
    expect(plan(...waiting, { type: 'story.rejected', ...word, reason: 'no' })).toEqual([
      'APPROVAL_DENIED',
      'US-001: no',
    ]);
    const approved = stateOf(...waiting, { type: 'story.approved', ...word });
    expect(approved).toMatchObject({
      status: 'queued',
      tip: COMMIT,
      stories: [{ progress: 'passed', commit: COMMIT }, {}],
    });
    expect(approved.stories[0]).not.toHaveProperty('held');
    expect(approved).not.toHaveProperty('stopReason');
    // A word on another commit, or a second one, changes nothing.
    expect(plan(...waiting, { type: 'story.approved', ...word, commit: '9'.repeat(40) })[0]).toBe('NEEDS_HUMAN');
    expect(
      plan(...waiting, { type: 'story.approved', ...word }, { type: 'story.rejected', ...word, reason: 'no' }),
    ).toEqual(['US-002', 1]);
  });

  it('does not retry a story that a person has rejected, also after an attempt that failed', () => {
    const second = held('US-001').map((entry) => ('attempt' in entry ? { ...entry, attempt: 2 } : entry));
    const why = { commit: COMMIT, by: 'me', reason: 'no' };
    const rejected: JournalEntry = { type: 'story.rejected', story: 'US-001', attempt: 2, ...why };
    expect(plan(created('r', 2), ...failed('US-001'), ...second, rejected)).toEqual(['APPROVAL_DENIED', 'US-001: no']);
  });

  it('always lands an approved story, without using up an attempt', () => {
    const waiting = [created('r', 3), { type: 'run.started' as const }, ...held('US-001'), ...held('US-002')];
    const given: JournalEntry = { type: 'approval.given', story: 'US-002', attempt: 1, commit: COMMIT, by: 'ann@desk' };
    expect(plan(...waiting, given)).toEqual(['US-002', 1]);
    const state = stateOf(...waiting, given);
    expect(state.stories[1]).toMatchObject({ progress: 'pending', approved: { commit: COMMIT, by: 'ann@desk' } });
    expect(state.stories[1]).not.toHaveProperty('held');
    expect(plan(...waiting, { ...given, commit: '9'.repeat(40) })[0]).toBe('NEEDS_HUMAN');
    // Its worker died, and then it failed: the yes was to another commit than the next one.
    const started = attempted('US-002').slice(0, 1);
    expect(plan(...waiting, given, ...started)).toEqual(['US-002', 1]);
    expect(stateOf(...waiting, given, ...failed('US-002')).stories[1]).not.toHaveProperty('approved');
    const cancelled: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled' };
    const ended = stateOf(...waiting, given, cancelled).stories;
    expect(ended.map(({ progress }) => progress)).toEqual(['cancelled', 'cancelled', 'pending']);
    for (const story of ended) expect(Object.keys(story)).not.toEqual(expect.arrayContaining(['held', 'approved']));
  });

  it('retries a waiting story immediately on request of a user', () => {
    const wait = {
      class: 'gate' as const,
      rule: 'hint' as const,
      nth: 1,
      of: 2,
      notBefore: '2031-01-01T00:00:00Z',
      why: 'x',
    };
    const ref = { story: 'US-001', attempt: 1 };
    const later: JournalEntry = { type: 'retry.scheduled', ...wait, ...ref };
    const retried: JournalEntry = { type: 'run.retried', by: 'ann', stories: ['US-001'] };
    const nextOf = (...entries: JournalEntry[]) => {
      const next = planNext(stateOf(created('r', 1), { type: 'run.started' }, ...entries));
      return next.kind === 'attempts' ? next.attempts.map(({ attempt, notBefore }) => [attempt, notBefore]) : [];
    };
    expect(nextOf(...failed('US-001'), later)).toEqual([[2, wait.notBefore]]);
    expect(nextOf(...failed('US-001'), later, retried)).toEqual([[2, undefined]]);
    // A failure outside the story interrupted it: its attempt continues.
    expect(nextOf(...attempted('US-001'), later)).toEqual([[1, wait.notBefore]]);
    expect(nextOf(...attempted('US-001'), later, retried)).toEqual([[1, undefined]]);
  });

  it('resumes an interrupted story without using up an attempt', () => {
    expect(plan(created('r', 2), ...attempted('US-001'))).toEqual(['US-001', 1]);
  });

  it('ends with the stop reason itself if only one attempt is allowed', () => {
    expect(plan(created('r', 1), ...failed('US-001', 1, 'halt'))[0]).toBe('GATE_FAILED');
  });

  it('ends after several attempts with the reason as one sentence', () => {
    const entries = [...failed('US-001'), ...failed('US-001', 2)].map((entry) =>
      entry.type === 'story.ended' ? { ...entry, summary: 'The provider refused the key.' } : entry,
    );
    expect(planNext(stateOf(created('r', 1), ...entries))).toMatchObject({
      detail: 'US-001: The provider refused the key (GATE_FAILED, 2 attempts)',
    });
  });

  it('starts a story again that a user has answered, before the next one and in spite of another question', () => {
    const first = { ...created('r', 3), parallel: 2, onFailure: 'continue' as const };
    const both = [...asked('US-001').slice(0, -1), ...asked('US-002', 'Which port?')];
    const answer: JournalEntry = { type: 'story.answered', story: 'US-002', attempt: 1, text: '8080', by: 'ann@desk' };
    const state = stateOf(first, { type: 'run.started' }, ...both, answer);
    expect(state).toMatchObject({
      status: 'queued',
      stories: [{ progress: 'needs_human' }, { progress: 'pending' }, {}],
    });
    expect(state.stories[1]!.answered).toMatchObject([
      { attempt: 1, question: 'Which port?', text: '8080', by: 'ann@desk' },
    ]);
    const plan = planNext({ ...state, onFailure: 'stop' });
    expect(plan).toMatchObject({ kind: 'attempts', attempts: [{ story: { id: 'US-002' }, attempt: 2 }] });
  });

  it('stops for a user, with the question', () => {
    const asked: JournalEntry = {
      type: 'story.ended',
      story: 'US-001',
      attempt: 1,
      verdict: 'needs_human',
      stopReason: 'NEEDS_HUMAN',
      summary: 'Which color?',
      usage: NO_USAGE,
    };
    expect(plan(created('r', 2), ...attempted('US-001'), asked)).toEqual(['NEEDS_HUMAN', 'US-001: Which color?']);
  });

  describe('with several concurrent stories', () => {
    const four = (more: object = {}) => {
      const entry = created('r', 4);
      if (entry.type !== 'run.created') throw new Error('unexpected');
      const [, , third, fourth] = entry.prd.stories;
      Object.assign(third!, { dependsOn: ['US-001'] });
      Object.assign(fourth!, { dependsOn: ['US-001', 'US-002'] });
      return { ...entry, parallel: 3, ...more };
    };

    it('starts a story as soon as all its dependencies have landed, and not earlier', () => {
      expect(plan(four())).toEqual(['US-001', 1, 'US-002', 1]);
      expect(plan(four(), ...attempted('US-002'), ...passed('US-001'))).toEqual(['US-002', 1, 'US-003', 1]);
      expect(plan(four(), ...passed('US-001'), ...passed('US-002'))).toEqual(['US-003', 1, 'US-004', 1]);
    });

    it('never runs more than the limit, and prefers stories in progress', () => {
      expect(plan(four({ parallel: 1 }), ...attempted('US-002'))).toEqual(['US-002', 1]);
      expect(plan(four({ parallel: 2 }), ...passed('US-001'), ...attempted('US-003'))).toEqual([
        'US-002',
        1,
        'US-003',
        1,
      ]);
    });

    it('lets running stories end when another one has failed finally, but starts no other', () => {
      expect(plan(four(), ...twice('US-001'), ...attempted('US-002'))).toEqual(['US-002', 1]);
      expect(plan(four(), ...twice('US-001'), ...passed('US-002'))[0]).toBe('ATTEMPTS_EXHAUSTED');
    });

    it('a failed story blocks only the stories that depend on it, and the run ends with PARTIAL', () => {
      const isContinued = four({ onFailure: 'continue' });
      expect(plan(isContinued, ...twice('US-002'))).toEqual(['US-001', 1]);
      expect(plan(isContinued, ...twice('US-002'), ...passed('US-001'))).toEqual(['US-003', 1]);
      expect(plan(isContinued, ...twice('US-002'), ...passed('US-001'), ...passed('US-003'))).toEqual([
        'PARTIAL',
        '2 of 4 stories passed; US-002: GATE_FAILED; not started: US-004',
      ]);
    });

    it('continues after failures and ends with the first failure if nothing landed, or with NEEDS_HUMAN if a story waits', () => {
      const isContinued = four({ onFailure: 'continue' });
      expect(plan(isContinued, ...twice('US-001'), ...twice('US-002'))[0]).toBe('ATTEMPTS_EXHAUSTED');
      expect(plan(isContinued, ...twice('US-001'), ...held('US-002'))[0]).toBe('NEEDS_HUMAN');
    });

    it('does not count an attempt that only conflicted with stories landed in the meantime', () => {
      const met: JournalEntry = {
        type: 'story.ended',
        story: 'US-001',
        attempt: 1,
        verdict: 'failed',
        stopReason: 'CONFLICT',
        summary: 'met',
        usage: NO_USAGE,
        conflicts: ['a.txt'],
        failure: { ...gateFailure('wait'), class: 'environment' },
      };
      const once = four({ attempts: 1, parallel: 1 });
      expect(plan(once, ...attempted('US-001'), met)).toEqual(['US-001', 2]);
      expect(plan(once, ...attempted('US-001'), met, ...failed('US-001', 2))[0]).toBe('ATTEMPTS_EXHAUSTED');
    });
  });

  it('ends with success when all have landed', () => {
    expect(plan(created('r', 2), ...passed('US-001'), ...passed('US-002'))).toEqual([
      'SUCCESS',
      '2 of 2 stories passed',
    ]);
  });

  it.each([
    ['done', 'SUCCESS'],
    ['blocked', 'NOTHING_RUNNABLE'],
    ['skipped', 'NOTHING_RUNNABLE'],
  ])('ends immediately if every story is %s', (status, stopReason) => {
    const entry = created('r', 2);
    if (entry.type !== 'run.created') throw new Error('unexpected');
    for (const story of entry.prd.stories) Object.assign(story, { status });
    expect(plan(entry)[0]).toBe(stopReason);
  });
});

describe('an attempt that was planned', () => {
  it('is still planned until a worker starts it, or the run is paused or ends', () => {
    const state = stateOf(created('r', 2));
    const next = planNext(state);
    const planned = next.kind === 'attempts' ? next.attempts[0]! : expect.fail();
    const after = (...entries: JournalEntry[]) => isStillPlanned(stateOf(created('r', 2), ...entries), planned);
    expect(after()).toBe(true);
    expect(after(...attempted('US-001'))).toBe(false);
    expect(after(...failed('US-001'))).toBe(false);
    expect(after({ type: 'run.paused', by: 'ann', now: false })).toBe(false);
    expect(after({ type: 'run.ended', stopReason: 'USER_ABORT', detail: '' })).toBe(false);
  });

  it('is the last one after a failure that no retry helps', () => {
    expect(plan(created('r', 1), ...failed('US-001', 1, 'hint'))).toEqual(['US-001', 2]);
    expect(plan(created('r', 1), ...failed('US-001', 1, 'halt'))[0]).toBe('GATE_FAILED');
  });

  it('waits for its model only for as long as is allowed in total', () => {
    const pause = { model: 'm', by: 'rate' as const, until: '2030-01-01T00:01:00.000Z' };
    const at = { story: 'US-001', attempt: 1, pause, why: 'w' };
    const wait = (maxWaitMs: number) =>
      postponeAttempt(stateOf(created('r', 1)), at, { maxWaitMs, now: '2030-01-01T00:00:00.000Z' });
    expect(wait(60_000)).toMatchObject({ type: 'story.postponed', notBefore: pause.until });
    expect(wait(59_999)).toBeUndefined();
  });
});

describe('what a person does next', () => {
  it('is to merge an open pull request, and otherwise to land', () => {
    const command = (pull: object) => commandOf(landingStep({ runId: 'r', ...pull }));
    expect([command({}), command({ pull: {} }), command({ pull: { ended: 'closed' } })]).toEqual([
      'halo land r',
      'halo pr r',
      'halo land r',
    ]);
  });

  it('is to read the descriptions of a dry run only if a story has one', () => {
    const begun: JournalEntry = { ...created('r', 1), dry: true };
    const commands = (...entries: JournalEntry[]) =>
      toCommands(
        nextSteps(stateOf(begun, ...entries, { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '' })),
      ).map(({ command }) => command);
    expect(commands(...passed('US-001'))).toContain('halo show r');
    expect(commands(...failed('US-001'))).not.toContain('halo show r');
  });

  it.each<[string, JournalEntry[], string[]]>([
    ['start a story again that failed for good', twice('US-001'), ['halo retry r --story US-001', 'halo logs r -f']],
    ['wait for a retry that halo starts', failed('US-001'), ['halo logs r -f']],
    [
      'answer a question, and not to retry it',
      asked('US-001').slice(0, -1),
      ['halo answer r --story US-001 "…"', 'halo logs r -f'],
    ],
  ])('of an open run is to %s', (_what, entries, expected) => {
    const run = stateOf(onward, { type: 'run.started' }, ...entries);
    expect(toCommands(nextSteps(run)).map(({ command }) => command)).toEqual(expected);
  });

  it('is to answer a question before its deadline, and the line says what happens without an answer', () => {
    const line = (question: object) =>
      questionLines({ progress: 'needs_human', question: { until: 'then', ...question } }).at(-1);
    expect(line({ unanswered: 'first-option', options: ['a'] })).toContain('halo takes option 1');
    expect(line({ unanswered: 'first-option' })).toContain('the story fails');
    expect(line({ unanswered: 'skip' })).toContain('without the story');
  });

  it('can be an answer that reopens the run, which is over only without a deadline', () => {
    const run = (until?: string) =>
      isOver({ status: 'ended', stories: [{ progress: 'needs_human', question: { until } }] } as never);
    expect([run(), run('2031-01-01T00:00:00.000Z')]).toEqual([true, false]);
  });

  it('was feedback, which is open until the story ends', () => {
    const given = (progress: string) => openFeedback({ progress, feedback: ['one', 'two'] } as never);
    expect(['pending', 'in_progress', 'passed'].map(given)).toEqual(['two', 'two', undefined]);
  });
});
