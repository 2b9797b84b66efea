import { createHash } from 'node:crypto';
import type { FailedTests } from '../test-report/failed-tests.ts';
import { errorSignature } from './breaker.ts';
import type { FailureCause } from './failure.ts';

/** What happens to a story if a gate fails after its agent as it does on the base commit. */
export const BROKEN_BASE_MODES = ['stop', 'ask', 'retry'] as const;
export type BrokenBaseMode = (typeof BROKEN_BASE_MODES)[number];

/** How a gate failed. */
interface GateFailure {
  exitCode: number | undefined;
  /** Absent if its output names no failed tests. */
  failed?: FailedTests | undefined;
  /** The end of its output. */
  tail: string;
}

/**
 * Equal for gates that fail in the same way: with the same exit code, and the same failed tests with the same messages
 * or, if no tests are named, the same output. Numbers do not count. So a story is not stopped that repairs some of the
 * tests, or that fills an empty repository. Undefined for a gate that printed nothing, such as `test -f file`: it also
 * fails alike if the story is not done yet.
 */
export function failureSign({ exitCode, failed, tail }: GateFailure): string | undefined {
  if (failed === undefined && tail.trim() === '') return undefined;
  const tests = failed?.tests.map(({ name, message }) => [name, errorSignature(message)]);
  const printed = failed === undefined ? tail.split('\n').map((line) => errorSignature(withoutTimes(line))) : [];
  return createHash('sha256')
    .update(JSON.stringify([exitCode, failed?.count, tests, printed]))
    .digest('hex');
}

/** Units change with the duration. */
function withoutTimes(line: string): string {
  return line.replace(/\d+(?:\.\d+)? ?(?:ms|s|sec|seconds|m|min)\b/g, '0');
}

/** What counts for a story: a person who was asked wants another attempt, and a task can ask no one. */
export function resolveBrokenBase(
  configured: BrokenBaseMode,
  { task, answered = [] }: { task?: true | undefined; answered?: readonly { cause?: FailureCause }[] | undefined },
): BrokenBaseMode {
  if (answered.some(({ cause }) => cause === 'base-broken')) return 'retry';
  return configured === 'ask' && task ? 'stop' : configured;
}
