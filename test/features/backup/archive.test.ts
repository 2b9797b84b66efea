import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSources } from '../../support/architecture.ts';
import { whyTakeOver } from '../../../src/features/backup/core/archive.ts';
import { isArtifact, isUnfinished, readingOf } from '../../../src/features/backup/core/home-entries.ts';
import { DURABLE_FILES } from '../../chaos/files/durable-files.ts';

describe('a backup knows every file of a home', () => {
  const tops = DURABLE_FILES.map(({ name }) => name.split(/[/,]/)[0]!).filter((name) => !name.includes('*'));
  it.each([...new Set(tops)])('%s', (top) => {
    expect(readingOf(top)).toBeDefined();
  });

  it.each(
    readSources(resolve(import.meta.dirname, '../../../src')).flatMap(({ path, text }) =>
      [...text.matchAll(/join\([\w.#]*\bhome, '([^'./][^'/]*)'/g)].map(([, name = '']) => [name, path] as const),
    ),
  )('%s, of %s', (name) => {
    expect(readingOf(name)).toBeDefined();
  });

  it('and leaves out what nothing can read again elsewhere', () => {
    for (const name of ['sockets', 'locks', 'workers', 'redis', 'snapshots', 'cache', 'open-runs', 'run-index.jsonl'])
      expect(readingOf(name)).toBe('never');
    for (const name of ['api-token', 'engines']) expect(readingOf(name)).toBe('secret');
  });
});

it.each([
  ['config.toml.0a1b2c3d.tmp', true],
  ['access.jsonl.lock', true],
  ['mirror.git.new-0a1b2c-12-34-x', true],
  ['.removed-0tbq1aaaaaaaaaaa-00ff', true],
  ['journal.jsonl', false],
  ['ada@example.com.json', false],
])('whether %s is of a write that is under way: %s', (name, expected) => {
  expect(isUnfinished(name)).toBe(expected);
});

it.each([
  ['artifacts/us-001/1/gates/1.log', true],
  ['artifacts/us-001/1/proof.json', false],
  ['events.jsonl', true],
  ['agent.log', true],
  ['debug_bundle/summary.md', true],
  ['journal.jsonl', false],
  ['run.json', false],
])('whether %s is left out without artifacts: %s', (path, expected) => {
  expect(isArtifact(path)).toBe(expected);
});

describe('a restore asks for a confirmation while the original may run', () => {
  const home = { id: '0123456789ab', host: 'build-1', path: '/srv/halo' };
  it.each([
    ['made of a stopped server of another machine', 0, 'build-2', false, undefined],
    ['made while workers ran on another machine', 2, 'build-2', false, '2 workers were running on build-1'],
    ['made while a worker ran there', 1, 'build-2', true, 'a worker was running on build-1'],
    ['of this machine, where it is gone', 2, 'build-1', false, undefined],
    ['of this machine, where it still is', 0, 'build-1', true, '/srv/halo still exists on this machine'],
  ])('%s', (_what, workers, host, hasOriginal, why) => {
    const asks = whyTakeOver({ home, workers }, { host, hasOriginal });
    if (why === undefined) expect(asks).toBeUndefined();
    else expect(asks).toContain(why);
  });
});
