import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import {
  assertAllowed,
  canAnswer,
  canApprove,
  canContinueAfter,
  canControl,
  canLand,
  canOpenPull,
  canReopen,
  canRetry,
  canSendBack,
  isApproved,
  nothingFailed,
} from '../../../src/core/run/actions.ts';
import { nextSteps } from '../../../src/core/run/next-steps.ts';
import { asked, attempted, COMMIT, created, failed, held, passed, stateOf, succeeded } from '../../support/journal.ts';

const story = 'US-001';
const ended = (stopReason: 'SUCCESS' | 'ATTEMPTS_EXHAUSTED' | 'USER_ABORT' | 'NEEDS_HUMAN'): JournalEntry => ({
  ...{ type: 'run.ended', stopReason, detail: '' },
});
const after = (...entries: JournalEntry[]) => stateOf(created('r', 2), { type: 'run.started' }, ...entries);
const twice = [...failed(story), ...failed(story, 2)];
const question: JournalEntry = {
  ...{ type: 'story.ended', story, attempt: 1, verdict: 'needs_human', stopReason: 'NEEDS_HUMAN' },
  summary: 'Which currency?',
  usage: { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
};

describe('canControl', () => {
  it('accepts a run that is not finished', () => expect(canControl(after(), 'pause')).toBe(true));

  it.each<[string, JournalEntry[], 'pause' | 'resume' | 'cancel', string]>([
    [
      'a run that succeeded',
      [...passed(story), ...passed('US-002'), ended('SUCCESS')],
      'resume',
      'Run `halo status r` to see the result.',
    ],
    [
      'a run with a failed story',
      [...twice, ended('ATTEMPTS_EXHAUSTED')],
      'resume',
      'Run `halo retry r` to reopen it.',
    ],
    [
      'a run whose story asks a question',
      [...attempted(story), question, ended('NEEDS_HUMAN')],
      'resume',
      'Run `halo answer r --story US-001 "…"` to answer its question, or `halo resume r --replan` after changing the PRD.',
    ],
    [
      'a failed run that is to be cancelled',
      [...twice, ended('ATTEMPTS_EXHAUSTED')],
      'cancel',
      'Run `halo status r` to see the result.',
    ],
    [
      'a run that waits for an approval',
      held(story),
      'resume',
      'Decide on US-001 with `halo approve` or `halo reject`: it is waiting for approval.',
    ],
    [
      'a waiting run that is to be cancelled',
      held(story),
      'cancel',
      'Reject US-001 with `halo reject`: it is waiting for approval.',
    ],
  ])('refuses %s with a hint', (_name, entries, verb, hint) => {
    expect(canControl(after(...entries), verb)).toMatchObject({ code: 'CONTROL_REFUSED', hint });
  });
});

describe('canReopen', () => {
  const run = after();
  it.each<[string, object, true | string]>([
    ['any other run', {}, true],
    [
      'a run that was refused at submit',
      { refused: true, stopReason: 'NOT_A_GIT_REPO' },
      'was refused with NOT_A_GIT_REPO',
    ],
    ['an import that has ended', { scratch: true, status: 'ended' }, 'was an import'],
    ['an import that runs', { scratch: true }, true],
    ['a task', { task: true }, 'is of a task in'],
  ])('judges %s', (_name, more, expected) => {
    const allowed = canReopen({ ...run, ...more });
    expect(allowed === true || allowed.message).toEqual(expected === true ? true : expect.stringContaining(expected));
  });
});

describe('canRetry', () => {
  const waiting: JournalEntry = {
    ...{ type: 'retry.scheduled', story, attempt: 1, class: 'gate', rule: 'hint', nth: 1, of: 2, why: '' },
    notBefore: '2030-01-02T00:00:00Z',
  };

  it.each<[string, JournalEntry[]]>([
    ['a failed story', [...twice, ended('ATTEMPTS_EXHAUSTED')]],
    ['a story whose retry waits', [...failed(story), waiting]],
  ])('accepts %s', (_name, entries) => expect(canRetry(after(...entries), story)).toBe(true));

  it.each<[string, JournalEntry[], string, string]>([
    ['a passed story', passed(story), 'CONTROL_REFUSED', 'Story US-001 has passed: there is nothing to retry.'],
    ['a running story', attempted(story), 'CONTROL_REFUSED', 'Story US-001 is in progress: there is nothing to retry.'],
    ['a story that has not begun', [], 'CONTROL_REFUSED', 'Story US-001 has not started: there is nothing to retry.'],
    ['a story that waits for approval', held(story), 'CONTROL_REFUSED', 'Story US-001 is waiting for approval.'],
  ])('refuses %s', (_name, entries, code, message) => {
    expect(canRetry(after(...entries), story)).toMatchObject({ code, message });
  });

  it('refuses a story that the run does not have', () => {
    expect(() => canRetry(after(), 'US-009')).toThrow(expect.objectContaining({ code: 'STORY_NOT_FOUND' }));
  });

  it('refuses a run without an open story', () => {
    expect(canRetry(after(...passed(story), ...passed('US-002'), ended('SUCCESS')))).toMatchObject({
      message: 'Run r has ended with SUCCESS and has no open story: there is nothing to retry.',
    });
  });
});

describe('canContinueAfter', () => {
  it('refuses a decision after which the run would end again', () => {
    const retried: JournalEntry = { type: 'run.retried', by: 'me', stories: [] };
    expect(canContinueAfter(after(...passed(story), ...passed('US-002'), ended('SUCCESS')), retried)).toMatchObject({
      code: 'CONTROL_REFUSED',
      hint: 'Run `halo status r` to see its state.',
    });
  });
});

describe('what a person can do', () => {
  const approved: JournalEntry = { type: 'run.approved', by: 'ann', tip: COMMIT };
  const landed: JournalEntry = { type: 'run.landed', branch: 'main', from: COMMIT, to: COMMIT };
  const one = (...entries: JournalEntry[]) => stateOf(created('r', 1), { type: 'run.started' }, ...entries);
  const needing = { ...created('r', 1), needsApproval: true as const };
  const all = ['pause', 'retry', 'retry story', 'answer', 'approve story', 'approve', 'land', 'open pull', 'send back'];

  it.each<[string, ReturnType<typeof stateOf>, string[]]>([
    ['with a run that works', one(...attempted(story)), ['pause']],
    ['with a failed story', one(...twice, ended('ATTEMPTS_EXHAUSTED')), ['retry', 'retry story']],
    ['with a question', one(...asked(story)), ['retry', 'retry story', 'answer']],
    ['with a held commit', one(...held(story)), ['approve story', 'send back']],
    ['with a result', stateOf(...succeeded('r')), ['approve', 'land', 'open pull', 'send back']],
    [
      'with a result that needs approval',
      stateOf(needing, ...succeeded('r').slice(1)),
      ['approve', 'open pull', 'send back'],
    ],
    ['with an approved result', stateOf(...succeeded('r'), approved), ['approve', 'land', 'open pull']],
    ['with a result that is on a branch', stateOf(...succeeded('r'), landed), ['land']],
    ['with a cancelled run', one(...asked(story).slice(0, -1), ended('USER_ABORT')), ['retry', 'retry story']],
  ])('%s: the rules, the next steps and the worker agree', (_name, run, expected) => {
    const [first] = run.stories;
    if (first === undefined) throw new Error('no story');
    const can: Record<string, boolean> = {
      pause: canControl(run, 'pause') === true,
      retry: canRetry(run) === true,
      'retry story': canRetry(run, first.id) === true,
      answer: canAnswer(run, first) === true,
      'approve story': canApprove(run, first) === true,
      approve: canApprove(run) === true,
      land: canLand(run) === true,
      'open pull': canOpenPull(run) === true,
      'send back': canSendBack(run, first) === true,
    };
    expect(all.filter((name) => can[name])).toEqual(expected);
    const asks: Partial<Record<string, string>> = {
      approve: 'approve',
      land: 'land',
      answer: 'answer',
      retry: 'retry',
    };
    for (const { do: step, story: of } of nextSteps(run)) {
      const name = asks[step];
      if (name !== undefined)
        expect(can[of !== undefined && name === 'approve' ? 'approve story' : name], step).toBe(true);
    }
  });
});

describe('isApproved', () => {
  const asks = (mode: 'never' | 'story' | 'run') => ({ needsApproval: mode === 'run' });
  const approved: JournalEntry = { type: 'run.approved', by: 'ann', tip: COMMIT };
  const rejected: JournalEntry = { type: 'run.rejected', by: 'ann', tip: COMMIT, reason: 'too large' };
  const older: JournalEntry = { ...approved, tip: 'f'.repeat(40) };
  const state = (...decisions: JournalEntry[]) => stateOf(...succeeded('r'), ...decisions);

  it.each<[string, 'never' | 'story' | 'run', JournalEntry[]]>([
    ['without approval', 'never', []],
    ['with approval of each story', 'story', []],
    ['that is approved', 'run', [approved]],
    ['that is approved after it was rejected', 'run', [rejected, approved]],
  ])('allows a run %s to land (approval.mode = %s)', (_name, mode, decisions) => {
    expect(isApproved(state(...decisions), asks(mode))).toBe(true);
  });

  it.each<[string, 'never' | 'run', JournalEntry[], string]>([
    ['that needs approval', 'run', [], 'is waiting for approval'],
    ['whose approval was for an older result', 'run', [older], 'is waiting for approval'],
    ['that is rejected', 'never', [rejected], 'ann rejected the result of run r: too large'],
    ['that is rejected after it was approved', 'run', [approved, rejected], 'ann rejected'],
  ])('prevents a run %s from landing (approval.mode = %s)', (_name, mode, decisions, message) => {
    const land = () => assertAllowed(isApproved(state(...decisions), asks(mode)));
    expect(land).toThrow(expect.objectContaining({ code: 'LAND_REFUSED' }));
    expect(land).toThrow(message);
  });

  it('names the run that continues the one that needs approval', () => {
    const land = () => assertAllowed(isApproved(state(), { ...asks('run'), continuedBy: 's' }));
    expect(land).toThrow('Run r, which run s continues, is waiting for approval.');
  });
});

describe('nothingFailed', () => {
  it('names the command that resumes a paused run', () => {
    const paused: JournalEntry = { type: 'run.paused', by: 'me', now: false };
    expect(nothingFailed(after(paused))).toBe('The run is paused and no story has failed: `halo resume r` resumes it.');
    expect(nothingFailed(after())).toBe('No story has failed; the run is in progress.');
  });
});
