import { expect, it } from 'vitest';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

it('halo user set says which repositories the user has afterwards', async () => {
  const operations = openMemory();
  const set = async (...options: string[]) => (await runCli(['user', 'set', 'ann', ...options], { operations })).stdout;
  await operations.addUser({ name: 'ann', role: 'operator' });
  expect(await set('--repo', '/srv/*')).toBe('changed  ann, operator, /srv/*\n');
  expect(await set('--all-repos')).toBe('changed  ann, operator, all repositories\n');
});
