import { expect, test } from 'vitest';
import { assertEngine } from '../../../src/api/submit/assert-engine.ts';

const ENGINES = [
  { name: 'a', labels: ['gpu'], users: ['ada'] },
  { name: 'b', labels: ['large', 'gpu'], repositories: ['/srv/other'] },
];
const run = (engineLabels?: string[], user = 'ada') => ({
  ...{ user, repo: { source: '/srv/shop', mirror: 'm', branch: 'main', base: '' } },
  ...(engineLabels && { engineLabels }),
});

test.each([
  ['without labels', run(), false],
  ['without labels, in the process that submits it', run(), true],
  ['with a label of an engine that is for it', run(['gpu']), false],
])('a run %s is accepted', (_which, asked, here) => {
  expect(() => assertEngine(asked, { engines: ENGINES, here })).not.toThrow();
});

test.each([
  ['no engine has', run(['arm']), false, 'the label "arm", and none is configured for ada and this repository'],
  ['no engine for its user has', run(['gpu'], 'ben'), false, 'and none is configured for ben'],
  ['only an engine of another repository has', run(['gpu', 'large']), false, 'the labels "gpu" and "large", and none'],
  ['the process that submits it does not have', run(['gpu']), true, '`halo run` uses the engine of this machine'],
])('a run with a label that %s is refused', (_which, asked, here, message) => {
  const refused = () => assertEngine(asked, { engines: ENGINES, here });
  expect(refused).toThrow(message);
  expect(refused).toThrow('engine.labels: /srv/shop asks for an engine with');
});
