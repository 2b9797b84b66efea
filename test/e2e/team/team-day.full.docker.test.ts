import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openMachines } from '../../support/engines/machines.ts';
import { spendDay } from './day-of-a-team.ts';

it('a team spends its day with all stories on two of three engines of other machines', async ({ skip }) => {
  const opened = await openMachines(['build-1', 'build-2', 'build-3']);
  if ('missing' in opened) return skip(opened.missing);
  onTestFinished(() => opened.close());
  const tables = Object.values(opened.machines).map(({ name, address, certificates }) => {
    const files = ['ca', 'cert', 'key'].map((file) => `${file} = "${join(certificates, `${file}.pem`)}"`);
    return ['[[engines]]', `name = "${name}"`, `address = "${address}"`, ...files].join('\n');
  });
  const events = await spendDay({
    config: `${tables.join('\n')}\n`,
    workers: [
      ['worker', '--engine', 'build-1'],
      ['worker', '--engine', 'build-2'],
    ],
  });
  const used = events.flatMap((event) => (event.type === 'story.started' ? [event.engine?.name] : []));
  expect(new Set(used)).toEqual(new Set(['build-1', 'build-2']));
  for (const { docker } of Object.values(opened.machines))
    expect(await docker.listContainers({ all: true })).toEqual([]);
});
