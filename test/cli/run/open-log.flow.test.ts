import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome } from '../../support/halo/halo-process.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { PATIENCE } from '../../support/patience.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

it('a worker logs an error that it does not know, with its stack, and continues', async () => {
  const home = openHome();
  onTestFinished(() => home.close());
  const prd = join(home.dir, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
  const settings = [
    ...scripted(`echo a > a; ${OK}`),
    'retry.infrastructure.retries=3',
    'retry.infrastructure.backoff="10ms"',
  ].flatMap((pair) => ['-c', pair]);
  const submitted = await home.halo(['submit', prd, ...settings], { cwd: newRepository().root });
  const env = { HALO_FAILPOINT: 'story.started.before@1:throw' };
  const worker = home.start(['worker'], { cwd: home.dir, env });
  const ended = { type: 'run.ended', stopReason: 'SUCCESS' };
  await vi.waitFor(() => expect(readJournal(home.dir, submitted.stdout.trim()).at(-1)).toMatchObject(ended), PATIENCE);
  expect(worker.stderr()).toMatch(/"err":\{"type":"Error","message":"[^"]+","stack":"/);
});
