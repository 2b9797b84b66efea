import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import {
  assertBegun,
  assertCanContinue,
  assertNotEnded,
  nothingFailed,
  retryableStory,
} from '../../../src/worker/control/control-preconditions.ts';
import { attempted, created, failed, held, passed, stateOf } from '../../support/journal.ts';

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

describe('assertNotEnded', () => {
  it('accepts a run that is not finished', () => expect(() => assertNotEnded(after(), 'pause')).not.toThrow());

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
    expect(() => assertNotEnded(after(...entries), verb)).toThrow(
      expect.objectContaining({ code: 'STEER_REFUSED', hint }),
    );
  });
});

describe('assertBegun', () => {
  it('refuses only a run that was refused at submit', () => {
    const run = { runId: 'r', stopReason: 'NOT_A_GIT_REPO' as const };
    expect(() => assertBegun(run)).not.toThrow();
    expect(() => assertBegun({ ...run, refused: true })).toThrow('Run r was refused with NOT_A_GIT_REPO');
  });
});

describe('retryableStory', () => {
  it('returns a failed story', () => {
    expect(retryableStory(after(...twice, ended('ATTEMPTS_EXHAUSTED')), story).id).toBe(story);
  });

  it('returns a story whose retry waits', () => {
    const waiting: JournalEntry = {
      ...{ type: 'retry.scheduled', story, attempt: 1, class: 'gate', rule: 'hint', nth: 1, of: 2, why: '' },
      notBefore: '2030-01-02T00:00:00Z',
    };
    expect(retryableStory(after(...failed(story), waiting), story).id).toBe(story);
  });

  it.each<[string, JournalEntry[], string, string]>([
    ['a landed story', passed(story), 'STEER_REFUSED', 'Story US-001 has landed: there is nothing to retry.'],
    ['a running story', attempted(story), 'STEER_REFUSED', 'Story US-001 is in progress: there is nothing to retry.'],
    ['a story that has not begun', [], 'STEER_REFUSED', 'Story US-001 has not started: there is nothing to retry.'],
    ['a story that waits for approval', held(story), 'STEER_REFUSED', 'Story US-001 is waiting for approval.'],
  ])('refuses %s', (_name, entries, code, message) => {
    expect(() => retryableStory(after(...entries), story)).toThrow(expect.objectContaining({ code, message }));
  });

  it('refuses a story that the run does not have', () => {
    expect(() => retryableStory(after(), 'US-009')).toThrow(expect.objectContaining({ code: 'STORY_NOT_FOUND' }));
  });
});

describe('assertCanContinue', () => {
  const retried = (...stories: string[]): JournalEntry => ({ type: 'run.retried', by: 'me', stories });

  it('accepts a retry after which a story starts', () => {
    expect(() => assertCanContinue(after(...twice, ended('ATTEMPTS_EXHAUSTED')), retried(story))).not.toThrow();
  });

  it('refuses a retry after which the run would end again', () => {
    expect(() => assertCanContinue(after(...passed(story), ...passed('US-002'), ended('SUCCESS')), retried())).toThrow(
      expect.objectContaining({ code: 'STEER_REFUSED', hint: 'Run `halo status r` to see its state.' }),
    );
  });
});

describe('nothingFailed', () => {
  it('names the command that resumes a paused run', () => {
    const paused: JournalEntry = { type: 'run.paused', by: 'me', now: false };
    expect(nothingFailed(after(paused))).toBe('The run is paused and no story has failed: `halo resume r` resumes it.');
    expect(nothingFailed(after())).toBe('No story has failed; the run is in progress.');
  });
});
