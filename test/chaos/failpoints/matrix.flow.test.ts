import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { FAILPOINTS } from '../../../src/core/failure/failpoint-names.ts';
import type { Phase } from '../../../src/core/journal/phase.ts';
import { readSources } from '../../support/architecture.ts';
import { ENGINE_POINTS } from '../../support/faults/points.ts';
import { readMatrix } from './matrix.ts';

const root = resolve(import.meta.dirname, '../../..');
const PHASES: Phase[] = [
  'prepare',
  'setup',
  'tests',
  'red',
  'agent',
  'export',
  'import',
  'gates',
  'refactor',
  'review',
];
const EVENTS = ['run.started', 'story.started', 'story.ended', 'run.ended', 'command'];

it('the table of failpoints matches the sources', () => {
  const reached = readSources(resolve(root, 'src'))
    .flatMap(({ text }) => [...text.matchAll(/await (?:reach|failpoint)\(['`]([^'`]+)['`]\)/g)])
    .flatMap(([, name = '']) => {
      if (name.startsWith('${phase}')) return PHASES.map((phase) => name.replace('${phase}', phase));
      return name.startsWith('${at}') ? EVENTS.map((type) => name.replace('${at}', type)) : [name];
    });
  // Snapshots are made in two places: of setup, and of the data of services.
  expect([...new Set(reached)].sort()).toEqual(Object.keys(FAILPOINTS).toSorted());
});

it.each([
  ['worker', Object.keys(FAILPOINTS)],
  ['engines', ENGINE_POINTS],
] as const)('the table of %s in test/chaos/faults.md has a row for every failpoint, and no other', (name, points) => {
  expect([...readMatrix(name).keys()]).toEqual(points);
});

it('test/chaos/faults.md has no empty cell in the table of workers', () => {
  const empty = [...readMatrix('worker')].filter(([, outcomes]) => Object.values(outcomes).includes(''));
  expect(empty.map(([at]) => at)).toEqual([]);
});

it('test/chaos/faults.md names only tests that exist', () => {
  const named = readFileSync(resolve(root, 'test/chaos/faults.md'), 'utf8').match(/test\/[\w/-]+\.test\.ts/g) ?? [];
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
});
