import { it } from 'vitest';
import { spendDay } from './day-of-a-team.ts';

it('a team has runs in four repositories, an answer, a reworked and merged pull request, notifications and metrics', async () => {
  await spendDay({ workers: [['worker']] });
});
