import { describe, expect, it } from 'vitest';
import { HaloError, type ErrorCode } from '../../../src/core/failure/errors.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { planEnd } from '../../../src/worker/run/end-run.ts';
import { causeOf } from '../../../src/worker/run/infrastructure-failure.ts';
import { attempted, created, failed, passed, stateOf } from '../../support/journal.ts';

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
    ['a run whose stories passed', [...passed('US-001'), ...passed('US-002')], 'SUCCESS'],
    ['a run with a story without attempts', [...failed('US-001'), ...failed('US-001', 2)], 'ATTEMPTS_EXHAUSTED'],
  ])('%s', (_name, entries, stopReason) => expect(planEnd(stateOf(run, ...entries))?.stopReason).toBe(stopReason));
});
