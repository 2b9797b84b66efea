import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSources } from './support/architecture.ts';
import { findUnstyledErrors, readMessages } from './support/error-style.ts';

const sources = readSources(resolve(import.meta.dirname, '../src'));

describe('error messages', () => {
  test('are sentences, also in JSON and in answers of the API', () => {
    expect(sources.flatMap(({ text }) => readMessages(text)).length).toBeGreaterThan(250);
    expect(findUnstyledErrors(sources)).toEqual([]);
  });

  test.each([
    ["'the file is empty.'", 1],
    ["'The file is empty'", 1],
    ['`${path}: the file is empty.`', 1],
    ['`${path}:${line}:${column}: The text is not valid JSON: ${what}.`', 0],
    ['`git failed: ${output}`', 0],
    ['`Run ${runId} has ended.`', 0],
  ])('a message is judged by its start and end: %s', (message, breaches) => {
    const file = { path: 'a.ts', text: `throw new HaloError('USAGE', ${message}, { hint });`, imports: [] };
    expect(findUnstyledErrors([file])).toHaveLength(breaches);
  });
});
