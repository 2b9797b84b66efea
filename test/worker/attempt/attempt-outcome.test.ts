import { describe, expect, it } from 'vitest';
import { findMissingProgram } from '../../../src/worker/attempt/attempt-outcome.ts';

describe('a command that exits 127', () => {
  it.each([
    ['/bin/sh: 7: go: not found', 'go'],
    ['sh: 1: vitest: not found\n', 'vitest'],
    ['bash: line 1: uv: command not found', 'uv'],
    ['bash: pnpm: command not found', 'pnpm'],
    ['some output\nsh: 1: poetry: not found\nnpm error code 127', 'poetry'],
  ])('names the program that is missing: %j', (output, program) => {
    expect(findMissingProgram({ exitCode: 127 }, output)).toBe(program);
  });

  it.each(['sh: 1: ./test.sh: not found', 'sh: 1: /usr/bin/x: not found', 'the file was not found here', ''])(
    'names no program for a file of the repository or other text: %j',
    (output) => {
      expect(findMissingProgram({ exitCode: 127 }, output)).toBeUndefined();
    },
  );
});

it('a command that exits otherwise names no program', () => {
  expect(findMissingProgram({ exitCode: 1 }, 'sh: 1: go: not found')).toBeUndefined();
});
