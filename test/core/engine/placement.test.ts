import { expect, test } from 'vitest';
import { enginesFor, type EngineRules, type PlacedRun } from '../../../src/core/engine/placement.ts';

const ENGINES: EngineRules[] = [
  { name: 'any' },
  { name: 'gpu', labels: ['gpu', 'large'] },
  { name: 'shop', labels: ['gpu'], repositories: ['/srv/repos/shop', 'https://git.example.com/shop/*'] },
  { name: 'ada', labels: ['large'], users: ['ada', 'ann'] },
  { name: 'closed', labels: ['gpu'], users: [] },
];

interface Case {
  labels?: string[];
  user?: string;
  source?: string;
  engines: string[];
}

test.each<[string, Case]>([
  ['all that are for everyone, and that of the environment first', { engines: ['local', 'any', 'gpu'] }],
  ['those of its user', { user: 'ada', engines: ['local', 'any', 'gpu', 'ada'] }],
  ['those of its repository', { source: '/srv/repos/shop', engines: ['local', 'any', 'gpu', 'shop'] }],
  [
    'those of its repository by a pattern',
    { source: 'https://git.example.com/shop/web.git', engines: ['local', 'any', 'gpu', 'shop'] },
  ],
  ['none of a repository with a longer name', { source: '/srv/repos/shop2', engines: ['local', 'any', 'gpu'] }],
  ['none by a path that leads elsewhere', { source: '/srv/repos/shop/../shop', engines: ['local', 'any', 'gpu'] }],
  ['those with its label, not that of the environment', { labels: ['gpu'], engines: ['gpu'] }],
  ['those with all of its labels', { labels: ['gpu', 'large'], user: 'ada', engines: ['gpu'] }],
  ['those with its label, of its user', { labels: ['large'], user: 'ada', engines: ['gpu', 'ada'] }],
  ['none without an engine with its label', { labels: ['arm'], engines: [] }],
  ['none with the label in other letters', { labels: ['GPU'], engines: [] }],
])('a run may use %s', (_which, { labels, user = 'ben', source = '/srv/repos/api', engines }) => {
  const repo = { source, mirror: 'm', branch: 'main', base: 'a'.repeat(40) };
  const run: PlacedRun = { user, repo, ...(labels && { engineLabels: labels }) };
  expect(enginesFor(run, ENGINES)).toEqual(engines);
});

test('without configured engines, a run may use that of the environment, unless it asks for a label', () => {
  const repo = { source: '/r', mirror: 'm', branch: 'main', base: '' };
  expect(enginesFor({ user: 'a', repo }, [])).toEqual(['local']);
  expect(enginesFor({ user: 'a', repo, engineLabels: ['gpu'] }, [])).toEqual([]);
});
