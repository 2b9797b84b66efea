import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { SandboxExit } from '../../../src/sandbox/sandbox.ts';
import {
  assertCommandPassed,
  gateFailed,
  type GateHistory,
} from '../../../src/worker/attempt/assert-command-passed.ts';
import { AttemptEnded, toOutcome } from '../../../src/worker/attempt/attempt-outcome.ts';

const { config } = resolveConfig({ cwd: '/' });
const EXIT: SandboxExit = { ended: 'exited', exitCode: 1, outOfMemory: 'no', forksRefused: false, ms: 1 };

describe('gateFailed', () => {
  const HISTORY: GateHistory = { failed: undefined, restored: undefined, onBase: undefined };
  const onBase = (exitCode: number, setupFailed = false) => ({
    onBase: { v: 1 as const, setupFailed, gates: [{ command: 'npm test', exitCode }], tests: null },
  });
  const failed = { count: 1, tests: [{ name: 'adds', message: 'expected 2' }] };
  const restored = { changed: ['package.json'], removed: [], more: 0 };
  const notFound = 'sh: 1: pytest: not found';

  it.each<[string, Partial<GateHistory>, string]>([
    ['alone', {}, 'gate exited 1: `npm test`'],
    ['on a base where it passes', onBase(0), 'gate exited 1: `npm test`'],
    ['on a base where it fails too', onBase(1), 'gate exited 1; it fails on the base commit as well: `npm test`'],
    [
      'on a base whose setup fails',
      onBase(0, true),
      'gate exited 1; on the base commit not even setup works: `npm test`',
    ],
    ['after halo restored files', { restored }, 'gate exited 1; halo had put back package.json: `npm test`'],
  ])('names the gate %s', (_name, history, summary) => {
    const { outcome } = gateFailed(
      config,
      { command: 'npm test', exit: EXIT, tail: 'log' },
      { ...HISTORY, ...history },
    );
    expect(outcome).toEqual({ verdict: 'failed', stopReason: 'GATE_FAILED', summary, tail: 'log' });
  });

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

  it.each([
    ['a missing program', ended('setup', { exitCode: 127 }, noProgram)],
    ['an unreachable host', ended('setup', {}, noNetwork)],
  ])('blames the story, not the settings, for %s on a tree that the story has touched', (_name, command) => {
    expect(outcomeOf(command, true)).not.toHaveProperty('cause');
  });
});
