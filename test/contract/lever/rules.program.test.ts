import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { judgeEnd } from '../../../src/features/lever/api/task-outcome.ts';
import {
  addRequests,
  delayFor,
  estimateTokens,
  limitOf,
  recentRequests,
} from '../../../src/features/lever/api/session-rate.ts';
import { taskName } from '../../../src/features/lever/api/run-folder.ts';
import { findVerification } from '../../../src/features/lever/api/verification.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { FailureCause, FailureClass } from '../../../src/core/failure/failure.ts';
import { STOP_REASONS, type StopReason } from '../../../src/core/failure/stop-reason.ts';
import { inspectRepo } from '../../../src/git/repository/inspect-repo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

describe('verification', () => {
  const ALL = ['scripts/ci.sh', 'Makefile', 'tests/run.sh', 'tests/test_it.py'];

  it.each([
    ['./scripts/ci.sh', ALL],
    ['make ci', ALL.slice(1)],
    ['./tests/run.sh', ALL.slice(2)],
    ['pytest -q', ALL.slice(3)],
    [undefined, ['src/it.py']],
  ])('is %s, the first that exists', async (command, paths) => {
    expect(await verificationOf(paths)).toBe(command);
  });

  it('skips a script that is not executable and a Makefile without the target', async () => {
    const makefile = `.PHONY: ci\nci := 1\nci ::= 2\ndeps: ci\n\tci: x\n${'ci '.repeat(100_000)}\n`;
    const repository = newRepository({ 'scripts/ci.sh': 'x', Makefile: makefile, 'it_test.py': '' });
    expect(await find(repository)).toBe('pytest -q');
  });

  it.each(['ci:', 'lint ci : all', 'ci:: all', '  ci: # comment'])('finds the target in %j', async (line) => {
    const repository = newRepository({ GNUmakefile: `${line}\n`, Makefile: 'all:\n' });
    expect(await find(repository)).toBe('make ci');
  });

  it('is looked up in the commit, not in the checkout', async () => {
    const repository = newRepository({ 'src/it.py': '' });
    repository.write('tests/test_it.py', '');
    expect(await find(repository)).toBeUndefined();
  });

  async function verificationOf(paths: string[]): Promise<string | undefined> {
    const repository = newRepository(Object.fromEntries(paths.map((path) => [path, 'all:\nlint ci: all\n'])));
    const programs = paths.filter((path) => path.endsWith('.sh'));
    for (const path of programs) execFileSync('chmod', ['+x', path], { cwd: repository.root });
    if (programs.length > 0) repository.commit('programs');
    return find(repository);
  }

  async function find({ root }: TestRepository): Promise<string | undefined> {
    const { gitDir, head } = await inspectRepo(root);
    return (await findVerification({ gitDir, commit: head }))?.command;
  }
});

describe('the end of a run', () => {
  it.each<[StopReason, boolean, number, string, number]>([
    ['SUCCESS', true, 3, 'completed', 0],
    ['NEEDS_HUMAN', true, 1, 'blocked', 4],
    ['INVALID_OUTPUT', false, 1, 'blocked', 10],
    ['ENGINE_ERROR', false, 1, 'blocked', 10],
    ['ENGINE_ERROR', true, 1, 'started', 12],
    ['GATE_FAILED', true, 2, 'started', 12],
    ['GATE_FAILED', true, 3, 'blocked', 11],
    ['USER_ABORT', true, 3, 'started', 130],
  ])(
    'an end with %s (answered: %s, run %i) makes the task %s and exits with %i',
    (stopReason, answered, runs, status, exit) => {
      expect(judgeEnd({ stopReason, answered, runAttempts: runs })).toEqual({ status, exit });
    },
  );

  it.each<[StopReason, { class: FailureClass; cause?: FailureCause }, number]>([
    ['GATE_FAILED', { class: 'environment', cause: 'program-missing' }, 5],
    ['GATE_FAILED', { class: 'environment', cause: 'network-missing' }, 5],
    ['GATE_FAILED', { class: 'environment', cause: 'base-broken' }, 6],
    ['GATE_FAILED', { class: 'environment', cause: 'setup-failed' }, 1],
    ['ENGINE_ERROR', { class: 'environment', cause: 'program-missing' }, 5],
    ['ENGINE_ERROR', { class: 'provider', cause: 'key-refused' }, 1],
    ['INFRASTRUCTURE', { class: 'infrastructure' }, 1],
    ['MISSING_DEPENDENCY', { class: 'infrastructure' }, 5],
  ])('an end with %s by %j does not count as a run, and stops the loop with %i', (stopReason, failure, exit) => {
    for (const answered of [true, false])
      for (const runAttempts of [1, 3])
        expect(judgeEnd({ stopReason, answered, runAttempts, failure })).toEqual({
          status: 'started',
          exit,
          uncounted: true,
        });
  });

  it('has an exit code that the loop knows for every stop reason', () => {
    const codes = (Object.keys(STOP_REASONS) as StopReason[]).flatMap((stopReason) =>
      [true, false].map((answered) => judgeEnd({ stopReason, answered, runAttempts: 1 }).exit),
    );
    expect([...new Set(codes)].sort((a, b) => a - b)).toEqual([0, 1, 3, 4, 5, 6, 10, 12, 130]);
  });
});

describe('the rate-limit cache', () => {
  const limit = { rpm: 10, tpm: 1000 };
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
  const ts = (second: number) => at(second).getTime() / 1000;
  const request = (second: number, tokens = 400, model = 'm') => ({ ts: ts(second), model, tokens });
  const delays = (requests: ReturnType<typeof request>[], seconds: number[], tokens = 100) =>
    seconds.map((second) => delayFor({ requests }, { model: 'm', limit, tokens, now: at(second) }));

  it('keeps the requests of the last minute, as the script does', () => {
    const cache = addRequests({ requests: [request(0), request(30)] }, [request(59)], at(60));
    expect(cache).toEqual({ requests: [request(30), request(59)] });
  });

  it('counts of a run only the requests of its last minute', async () => {
    const usage = { requests: 1, inputTokens: 300, cachedTokens: 0, outputTokens: 100 };
    const used = (second: number) => ({
      ...({
        v: 1,
        seq: 1,
        type: 'model.used',
        story: 'S',
        attempt: 1,
        model: 'm-2',
        told: 'all',
        tokens: 400,
      } as const),
      at: at(second).toISOString(),
      usage,
    });
    async function* events(): AsyncGenerator<{ event: JournalEvent }> {
      yield { event: await Promise.resolve(used(0)) };
      yield { event: { v: 1, seq: 2, at: at(61).toISOString(), type: 'run.started' } };
      yield { event: used(61) };
      yield { event: used(100) };
    }
    const requests = await recentRequests(events(), { model: 'm', now: at(120) });
    expect(requests).toEqual([request(61), request(100)]);
  });

  it('makes a run wait until its prompt fits into the last minute, with the requests of its model alone', () => {
    const two = [request(0), request(20), request(30, 9999, 'other')];
    expect(delays(two, [30])).toEqual([0]);
    expect(delays(two, [30, 59, 60], 300)).toEqual([30_000, 1_000, 0]);
    expect(delays(two, [30], 700)).toEqual([50_000]);
    expect(delays(two, [30, 80], 5000)).toEqual([50_000, 0]);
    const many = Array.from({ length: 10 }, (_, second) => request(second, 1));
    expect(delays(many, [10, 61])).toEqual([50_000, 0]);
  });

  it('estimates the tokens of a prompt from its size', () => {
    expect([0, 4000, 4001, 40_000].map(estimateTokens)).toEqual([1000, 1000, 1001, 10_000]);
  });

  it.each([
    ['gpt-5.1-codex-mini', 500, 200_000],
    ['gpt-5.1-codex', 500, 500_000],
    ['gpt-5.2-codex', 500, 500_000],
    ['another model', 500, 200_000],
  ])('has the limits of the script for %s: %i requests and %i tokens a minute', (model, rpm, tpm) => {
    expect(limitOf(model)).toEqual({ rpm, tpm });
  });

  it('has limits that settings override', () => {
    expect(limitOf('gpt-5.1-codex', { rpm: 7 })).toEqual({ ...limitOf('gpt-5.1-codex'), rpm: 7 });
  });
});

describe('the name of a task in paths and branches', () => {
  it.each(['T-1', 'a_b.c'])('is its id, %s, where that is safe', (id) => expect(taskName(id)).toBe(id));

  it.each(['../up', 'a b', 'x/y', '.hidden', 'a..b', 'x.lock', '-f', ''])('is different for %j', (id) => {
    expect(taskName(id)).toMatch(/^[a-z0-9-]+$/);
  });
});
