import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { failureSign, resolveBrokenBase, type BrokenBaseMode } from '../../../src/core/failure/broken-base.ts';
import type { FailedTests } from '../../../src/core/test-report/failed-tests.ts';
import type { SandboxExit } from '../../../src/sandbox/sandbox.ts';
import type { SandboxContext } from '../../../src/worker/attempt/open-attempt.ts';
import { recordSetup } from '../../../src/worker/attempt/phases/run-setup.ts';
import type { EndedCommand } from '../../../src/worker/workspace/run-commands.ts';
import { assertCommandPassed } from '../../../src/worker/attempt/assert-command-passed.ts';
import { gateFailed, type GateHistory } from '../../../src/worker/attempt/phases/run-gates.ts';
import { AttemptEnded, toOutcome, type AttemptOutcome } from '../../../src/worker/attempt/attempt-outcome.ts';

const { config } = resolveConfig({ cwd: '/' });
const EXIT: SandboxExit = { ended: 'exited', exitCode: 1, outOfMemory: 'no', forksRefused: false, ms: 1 };

describe('gateFailed', () => {
  const HISTORY: GateHistory = { failed: undefined, restored: undefined, onBase: undefined, brokenBase: 'stop' };
  const onBase = (
    exitCode: number,
    { setupFailed = false, failed = undefined as FailedTests | undefined, tail = 'log' } = {},
  ) => {
    const sign = failureSign({ exitCode, failed, tail });
    const gates = [{ command: 'npm test', exitCode, ...(sign !== undefined && { sign }) }];
    return { onBase: { v: 1 as const, setupFailed, gates, tests: null } };
  };
  const failing = (...tests: [name: string, message: string][]): FailedTests => ({
    count: tests.length,
    tests: tests.map(([name, message]) => ({ name, message })),
  });
  const failed = failing(['adds', 'expected 2']);
  const restored = { changed: ['package.json'], removed: [], more: 0 };
  const notFound = 'sh: 1: pytest: not found';

  it.each<[string, Partial<GateHistory>, string]>([
    ['alone', {}, 'gate exited 1: `npm test`'],
    ['on a base where it passes', onBase(0), 'gate exited 1: `npm test`'],
    ['on a base where it fails too', onBase(1), 'gate exited 1; it fails on the base commit as well: `npm test`'],
    [
      'on a base where it fails in another way',
      onBase(2),
      'gate exited 1; it fails on the base commit as well, in another way: `npm test`',
    ],
    [
      'on a base whose setup fails',
      onBase(0, { setupFailed: true }),
      'gate exited 1; on the base commit not even setup works: `npm test`',
    ],
    ['after halo restored files', { restored }, 'gate exited 1; halo had put back package.json: `npm test`'],
  ])('names the gate %s', (_name, history, summary) => {
    const { outcome } = gateFailed(
      config,
      { command: 'npm test', exit: EXIT, tail: 'log' },
      { ...HISTORY, ...history },
    );
    expect(outcome).toMatchObject({ verdict: 'failed', stopReason: 'GATE_FAILED', summary, tail: 'log' });
  });

  it('says that gates have no network if the output names a host that was not found', () => {
    const tail = 'FetchError: getaddrinfo EAI_AGAIN example.com';
    const { outcome } = gateFailed(config, { command: 'npm test', exit: EXIT, tail }, HISTORY);
    expect(outcome.summary).toMatch(/^gate exited 1; gates have no network: .*: `npm test`$/);
  });

  it.each<[string, Partial<GateHistory>, AttemptOutcome['cause']]>([
    ['fails alone', {}, undefined],
    ['passes on the base', onBase(0), undefined],
    [
      'was not reached on the base, whose setup fails',
      { onBase: { ...onBase(1, { setupFailed: true }).onBase, gates: [] } },
      undefined,
    ],
    ['fails on the base', onBase(1), 'base-broken'],
    ['fails on the base with another exit code', onBase(2), 'base-fails'],
    ['fails on the base, which the agent may repair', { ...onBase(1), brokenBase: 'retry' }, 'base-fails'],
    ['prints something else on the base', onBase(1, { tail: 'no tests' }), 'base-fails'],
    ['printed nothing on the base', onBase(1, { tail: '\n' }), 'base-fails'],
    ['names the same failed tests', { failed, ...onBase(1, { failed }) }, 'base-broken'],
    [
      'names the same, with other numbers',
      { failed, ...onBase(1, { failed: failing(['adds', 'expected 3']) }) },
      'base-broken',
    ],
    [
      'names the same, with another message',
      { failed, ...onBase(1, { failed: failing(['adds', 'it hangs']) }) },
      'base-fails',
    ],
    [
      'names fewer failed tests',
      { failed, ...onBase(1, { failed: failing(['adds', 'expected 2'], ['sums', 'no']) }) },
      'base-fails',
    ],
    ['names failed tests, unlike on the base', { failed, ...onBase(1) }, 'base-fails'],
  ])('blames the base only if it fails in the same way: a gate that %s', (_name, history, cause) => {
    const ended = { command: 'npm test', exit: EXIT, tail: 'log' };
    const end = gateFailed(config, ended, { ...HISTORY, ...history });
    expect(end.outcome.cause).toBe(cause);
  });

  it('does not blame the base for a gate that prints nothing, as a check of what the story is to make', () => {
    const silent = { command: 'test -f page.html', exit: EXIT, tail: '' };
    const gates = [{ command: silent.command, exitCode: 1 }];
    const end = gateFailed(config, silent, { ...HISTORY, onBase: { v: 1, setupFailed: false, gates, tests: null } });
    expect(end.outcome).toMatchObject({ cause: 'base-fails', verdict: 'failed' });
  });

  it('asks about a broken base, if that is configured', () => {
    const history: GateHistory = { ...HISTORY, ...onBase(1), brokenBase: 'ask' };
    const { outcome } = gateFailed(config, { command: 'npm test', exit: EXIT, tail: 'log' }, history);
    expect(outcome).toMatchObject({ verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', cause: 'base-broken' });
    expect(outcome.summary).toContain('it fails on the base commit as well: `npm test`. The base commit is broken.');
    expect(outcome.options).toHaveLength(2);
  });

  it.each([
    ['ran for 980 ms', 'ran for 1.2 s'],
    ['src/a.ts:12:3 has no semicolon', 'src/a.ts:14:3 has no semicolon'],
  ])('a gate that prints %j fails in the same way as one that prints %j', (one, other) =>
    expect(failureSign({ exitCode: 1, tail: one })).toBe(failureSign({ exitCode: 1, tail: other })),
  );

  it.each<[BrokenBaseMode, Parameters<typeof resolveBrokenBase>[1], BrokenBaseMode]>([
    ['ask', {}, 'ask'],
    ['ask', { task: true }, 'stop'],
    ['ask', { answered: [{ cause: 'base-broken' }] }, 'retry'],
    ['stop', { answered: [{ cause: 'base-broken' }] }, 'retry'],
    ['ask', { answered: [{}] }, 'ask'],
    ['retry', { task: true }, 'retry'],
  ])('the mode %s of a story %j is %s', (configured, story, mode) =>
    expect(resolveBrokenBase(configured, story)).toBe(mode),
  );

  it('puts the failed tests first, and before the log', () => {
    const end = gateFailed(config, { command: 'npm test', exit: EXIT, tail: 'log' }, { ...HISTORY, failed });
    expect(end.outcome.summary).toMatch(/^.*adds.*; gate exited 1: `npm test`$/);
    expect(end.outcome.tail).toMatch(/adds[^]*\n\nlog$/);
  });

  it.each([
    ['that the base lacks too is missing from the image', onBase(127), 'program-missing'],
    ['that the base has was removed by the story', onBase(0), undefined],
    ['is not blamed on the image without results of the base', {}, undefined],
  ])('a program %s', (_name, history, cause) => {
    const exit = { ...EXIT, exitCode: 127 };
    const end = gateFailed(config, { command: 'npm test', exit, tail: notFound }, { ...HISTORY, ...history });
    expect(end.outcome.cause).toBe(cause);
  });
});

describe('assertCommandPassed', () => {
  const ended = (kind: 'setup' | 'gate', exit: Partial<SandboxExit>, tail = '') => ({
    ...{ kind, command: 'npm ci', tail, egress: undefined },
    exit: { ...EXIT, ...exit },
  });
  const outcomeOf = (command: ReturnType<typeof ended>, touched: boolean) => {
    try {
      assertCommandPassed(config, command, { touched });
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(AttemptEnded);
      return toOutcome(error);
    }
  };
  const UNLISTED = { outcome: 'refused', unlisted: true, target: 'nodejs.org:443' };
  const noNetwork = 'curl: (6) Could not resolve host: example.org';
  const noProgram = 'sh: 1: pnpm: not found';

  it('accepts exit code 0', () => expect(outcomeOf(ended('setup', { exitCode: 0 }), false)).toBeUndefined());

  it.each<[string, ReturnType<typeof ended>, boolean, object]>([
    [
      'another exit code',
      ended('setup', {}),
      false,
      { stopReason: 'GATE_FAILED', summary: 'setup exited 1: `npm ci`' },
    ],
    ['a timeout', ended('gate', { ended: 'wall', exitCode: undefined }), false, { stopReason: 'TIMEOUT' }],
    [
      'too little memory',
      ended('setup', { exitCode: 137, outOfMemory: 'yes' }),
      false,
      { stopReason: 'OUT_OF_MEMORY' },
    ],
    [
      'a missing program on the base',
      ended('setup', { exitCode: 127 }, noProgram),
      false,
      { cause: 'program-missing' },
    ],
    ['an unreachable host on the base', ended('setup', {}, noNetwork), false, { cause: 'network-missing' }],
    [
      'a hung setup that needs a registry',
      ended('setup', { ended: 'idle', exitCode: undefined }),
      false,
      {
        ...{ stopReason: 'TIMEOUT', cause: 'network-missing' },
      },
    ],
  ])('ends the attempt after %s', (_name, command, touched, outcome) => {
    expect(outcomeOf(command, touched)).toMatchObject(outcome);
  });

  it.each<[string, boolean, string | undefined, object[]]>([
    ['a host that is not allowed', false, 'network-missing', [UNLISTED]],
    ['such a host and a failed request', false, undefined, [UNLISTED, { outcome: 'failed', reason: 'network: reset' }]],
    ['an item that no registry has', false, undefined, [{ outcome: 'refused' }]],
    ['a host that is not allowed, on the tree of a story', true, undefined, [UNLISTED]],
    ['a host that it can do without', false, undefined, [{ ...UNLISTED, target: 'telemetry.example.org:443' }]],
  ])('a setup that asked for %s is blamed on the settings only if these would help', (_name, touched, cause, rows) => {
    const egress = { channel: { refusals: [], gateway: { traffic: () => rows } } };
    const command = { ...ended('setup', {}, 'GET https://nodejs.org/headers failed'), egress } as unknown as ReturnType<
      typeof ended
    >;
    expect(outcomeOf(command, touched)?.cause).toBe(cause);
  });

  it.each([
    ['setup', {}, '', 'setup-failed'],
    ['setup', { exitCode: 127 }, noProgram, 'program-missing'],
    ['setup', { exitCode: 137, outOfMemory: 'yes' }, '', undefined],
    ['gates', {}, '', undefined],
  ] as const)(
    'in the phase %s, a setup command with the exit %j fails by its cause',
    async (phase, exit, tail, cause) => {
      const journal = { phase: <T>(_: string, action: () => Promise<T>) => action(), report: () => Promise.resolve() };
      const attempt = { config, journal } as unknown as SandboxContext;
      const command = { ...ended('setup', exit, tail), name: 'setup-1', sha256: '' } as unknown as EndedCommand;
      const error: unknown = await recordSetup(attempt, command, { phase, log: 'a' }).catch(
        (thrown: unknown) => thrown,
      );
      expect(toOutcome(error).cause).toBe(cause);
    },
  );

  it.each([
    ['a missing program', ended('setup', { exitCode: 127 }, noProgram)],
    ['an unreachable host', ended('setup', {}, noNetwork)],
  ])('blames the story, not the settings, for %s on a tree that the story has touched', (_name, command) => {
    expect(outcomeOf(command, true)).not.toHaveProperty('cause');
  });
});
