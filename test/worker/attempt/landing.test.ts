import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { FileChange } from '../../../src/git/import/import-tree.ts';
import { assertCurrent, assertNewestEpoch } from '../../../src/worker/attempt/attempt-journal.ts';
import { findHold, type HoldFacts } from '../../../src/worker/attempt/phases/approval.ts';
import { findImportFailure } from '../../../src/worker/attempt/phases/import-candidate.ts';
import type { Candidate } from '../../../src/worker/attempt/work.ts';
import { conflictIn } from '../../../src/worker/attempt/phases/land-candidate.ts';
import { BASE, created, failed, passed, stateOf } from '../../support/journal.ts';

const { config } = resolveConfig({ cwd: '/' });
const story = 'US-001';
const hidden = { characters: 1, lines: 1, files: 1, places: ['a.ts:1'] };

describe('findImportFailure', () => {
  const gates = ['npm test'];
  const settings = (land: Partial<typeof config.land>, some = gates) => ({
    gates: some,
    land: { ...config.land, ...land },
  });

  it.each([
    ['changes go to the gates', { hidden: undefined }, settings({}), undefined],
    [
      'hidden characters go to the gates if they are allowed',
      { hidden },
      settings({ hiddenCharacters: 'report' }),
      undefined,
    ],
    [
      'hidden characters are refused if the configuration says so',
      { hidden },
      settings({ hiddenCharacters: 'refuse' }),
      { stopReason: 'POLICY_VIOLATION', changed: true },
    ],
    ['no change goes to the gates if they decide', undefined, settings({ unchanged: 'pass' }), undefined],
    [
      'no change fails without a gate that could decide',
      undefined,
      settings({ unchanged: 'pass' }, []),
      { stopReason: 'INVALID_OUTPUT', cause: 'no-changes', changed: false },
    ],
    [
      'no change fails if the configuration says so',
      undefined,
      settings({ unchanged: 'fail' }),
      { stopReason: 'INVALID_OUTPUT', cause: 'no-changes', changed: false, tail: 'Done.' },
    ],
  ])('%s', (_name, candidate, facts, outcome) => {
    const end = findImportFailure(candidate, facts, 'Done.')?.outcome;
    if (outcome === undefined) expect(end).toBeUndefined();
    else expect(end).toMatchObject(outcome);
  });
});

describe('findHold', () => {
  const change = (path: string): FileChange => ({ path, change: 'update', mode: '100644' });
  const candidate = (found: Partial<Candidate> = {}) => ({
    ...{ changed: [change('a.ts')], suspects: [], hidden: undefined, ...found },
  });
  const suspects = [{ path: 'key.pem', names: ['a private key'] }];
  const NOTHING = { paths: [], named: [], prds: [] };
  const CI = { paths: ['.github/ci.yml'], named: ['.github/ci.yml'], prds: [] };
  const settings = (changes: {
    approval?: 'story' | 'never';
    added?: 'block' | 'report';
    hides?: 'block' | 'report';
  }) => ({
    approval: { ...config.approval, mode: changes.approval ?? 'never' },
    secrets: { ...config.secrets, added: changes.added ?? 'block' },
    land: { ...config.land, hiddenCharacters: changes.hides ?? 'block' },
  });
  const approval = { by: 'ann', paths: new Set(['a.ts']) };

  it.each<[string, ReturnType<typeof candidate>, Partial<HoldFacts>]>([
    ['an ordinary change', candidate(), {}],
    ['a possible secret, if it is only reported', candidate({ suspects }), { config: settings({ added: 'report' }) }],
    ['hidden characters, if they are only reported', candidate({ hidden }), { config: settings({ hides: 'report' }) }],
    ['a protected path that a person has approved', candidate(), { guarded: CI, approval }],
    [
      'an approved story, if every story needs approval',
      candidate(),
      { approval, config: settings({ approval: 'story' }) },
    ],
  ])('%s lands', (_name, work, facts) => {
    const hold = findHold(work, { guarded: NOTHING, approval: undefined, config: settings({}), ...facts });
    expect(hold).toBeUndefined();
  });

  it.each<[string, ReturnType<typeof candidate>, Partial<HoldFacts>, ReturnType<typeof findHold>]>([
    [
      'every story, if the configuration says so',
      candidate(),
      { config: settings({ approval: 'story' }) },
      { summary: 'gates passed; waiting for approval (approval.mode = "story")', paths: [] },
    ],
    [
      'a protected path',
      candidate(),
      { guarded: CI },
      {
        summary: 'the gates pass, but it changes protected paths: .github/ci.yml',
        paths: CI.paths,
        named: ['protected'],
      },
    ],
    [
      'a PRD',
      candidate(),
      { guarded: { paths: ['prd.json'], named: [], prds: ['prd.json: marks US-002 as done'] } },
      { summary: 'the gates pass, but it changes prd.json: marks US-002 as done', paths: ['prd.json'] },
    ],
    [
      'a possible secret in a protected path, which is named once',
      candidate({ suspects: [{ path: '.github/ci.yml', names: ['a token'] }] }),
      { guarded: CI },
      {
        summary:
          'the gates pass, but it changes protected paths: .github/ci.yml; it adds what looks like a secret: .github/ci.yml',
        paths: CI.paths,
        named: ['protected'],
      },
    ],
    [
      'a merge that moved an approved change to another file',
      candidate({ changed: [change('a.ts'), change('b.ts')] }),
      { guarded: CI, approval },
      {
        summary:
          'the gates pass, but since ann approved it, the merge moved it to b.ts; it changes protected paths: .github/ci.yml',
        paths: CI.paths,
        named: ['protected'],
      },
    ],
  ])('%s waits for approval', (_name, work, facts, hold) => {
    const found = findHold(work, { guarded: NOTHING, approval: undefined, config: settings({}), ...facts });
    expect(found).toEqual(hold);
  });

  it('names at most five paths', () => {
    const many = Array.from({ length: 7 }, (_, index) => ({ path: `${index}.pem`, names: ['a private key'] }));
    const found = findHold(candidate({ suspects: many }), {
      guarded: NOTHING,
      approval: undefined,
      config: settings({}),
    });
    expect(found?.summary).toMatch(/: 0\.pem, 1\.pem, 2\.pem, 3\.pem, 4\.pem, 2 more$/);
    expect(found?.paths).toHaveLength(7);
  });

  it('names the number of hidden characters that a change adds', () => {
    const found = findHold(candidate({ hidden }), { guarded: NOTHING, approval: undefined, config: settings({}) });
    expect(found?.summary).toMatch(/^the gates pass, but it adds .*a\.ts:1/);
  });
});

describe('an attempt', () => {
  const started = (epoch: number): JournalEntry => ({ type: 'story.started', story, attempt: 1, epoch, base: BASE });
  const first = [created('r', 2), { type: 'run.started' as const }];
  const attempt = { story, epoch: 1 };

  it('may land while its story is in progress in its epoch', () => {
    expect(() => assertCurrent(stateOf(...first, started(1)), attempt)).not.toThrow();
  });

  it.each<[string, JournalEntry[], string]>([
    ['another worker has taken over', [started(1), started(2)], 'Another worker has taken over US-001 of run r'],
    ['its run has ended', [started(1), { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' }], 'Run r has ended'],
    ['its story has ended', passed(story), 'was cancelled'],
    ['its story has failed', failed(story), 'was cancelled'],
    ['its story was never started', [], 'was cancelled'],
  ])('may not land if %s', (_name, entries, message) => {
    const state = stateOf(...first, ...entries);
    expect(() => assertCurrent(state, attempt)).toThrow(expect.objectContaining({ code: 'RUN_ABORTED' }));
    expect(() => assertCurrent(state, attempt)).toThrow(message);
  });

  it('may write after its story was cancelled, but not after another worker has taken over', () => {
    expect(() => assertNewestEpoch(stateOf(...first, started(1), ...failed(story)), attempt)).not.toThrow();
    expect(() => assertNewestEpoch(stateOf(...first, started(2)), attempt)).toThrow('Another worker');
  });
});

describe('conflictIn', () => {
  it('shows five paths to users and more to the next attempt', () => {
    const paths = Array.from({ length: 120 }, (_, index) => `${index}.ts`);
    const { outcome } = conflictIn(paths);
    expect(outcome).toMatchObject({ verdict: 'failed', stopReason: 'CONFLICT' });
    expect(outcome.summary).toMatch(/: 0\.ts, 1\.ts, 2\.ts, 3\.ts, 4\.ts, …$/);
    expect(outcome.conflicts).toHaveLength(100);
    expect(outcome.tail).toContain('\n99.ts\n');
  });
});
