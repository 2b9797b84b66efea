import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { HaloError, type ErrorCode } from '../../../src/core/failure/errors.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { assertApproved } from '../../../src/worker/run/land-run.ts';
import { planEnd } from '../../../src/worker/run/end-run.ts';
import { causeOf } from '../../../src/worker/run/infrastructure-failure.ts';
import { attempted, COMMIT, created, failed, passed, stateOf, succeeded } from '../../support/journal.ts';

describe('assertApproved', () => {
  const { config } = resolveConfig({ cwd: '/' });
  const asks = (mode: 'never' | 'story' | 'run') => ({ approval: { ...config.approval, mode } });
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
    expect(() => assertApproved(state(...decisions), asks(mode))).not.toThrow();
  });

  it.each<[string, 'never' | 'run', JournalEntry[], string]>([
    ['that needs approval', 'run', [], 'is waiting for approval'],
    ['whose approval was for an older result', 'run', [older], 'is waiting for approval'],
    ['that is rejected', 'never', [rejected], 'ann rejected the result of run r: too large'],
    ['that is rejected after it was approved', 'run', [approved, rejected], 'ann rejected'],
  ])('prevents a run %s from landing (approval.mode = %s)', (_name, mode, decisions, message) => {
    const land = () => assertApproved(state(...decisions), asks(mode));
    expect(land).toThrow(expect.objectContaining({ code: 'LAND_REFUSED' }));
    expect(land).toThrow(message);
  });

  it('names the run that continues the one that needs approval', () => {
    const land = () => assertApproved(state(), asks('run'), 's');
    expect(land).toThrow('Run r, which run s continues, is waiting for approval.');
  });
});

describe('causeOf', () => {
  it.each<[ErrorCode, ReturnType<typeof causeOf>]>([
    ['DOCKER_UNAVAILABLE', 'server-away'],
    ['REDIS_UNAVAILABLE', 'server-away'],
    ['NOT_A_GIT_REPO', 'repository-away'],
    ['MODEL_KEY_MISSING', 'misconfigured'],
    ['CONFIG_INVALID', 'misconfigured'],
    ['DISK_FAILED', undefined],
    ['GIT_FAILED', undefined],
  ])('%s is %s', (code, cause) => expect(causeOf(new HaloError(code, 'It failed.'))).toBe(cause));
});

describe('planEnd', () => {
  const run = created('r', 2);
  it.each<[string, JournalEntry[], string | undefined]>([
    ['a run with an open story', passed('US-001'), undefined],
    ['a run with a running story', attempted('US-001'), undefined],
    ['a run whose stories landed', [...passed('US-001'), ...passed('US-002')], 'SUCCESS'],
    ['a run with a story without attempts', [...failed('US-001'), ...failed('US-001', 2)], 'ATTEMPTS_EXHAUSTED'],
  ])('%s', (_name, entries, stopReason) => expect(planEnd(stateOf(run, ...entries))?.stopReason).toBe(stopReason));
});
