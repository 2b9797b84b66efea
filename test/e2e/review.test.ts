import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../support/terminal/cli-world.ts';
import { openHalo, scripted, type TestHalo } from '../support/halo/halo.ts';
import { makeRepository, type TestRepository } from '../support/repository/repository.ts';

let halo: TestHalo;
let repository: TestRepository;
beforeAll(async () => {
  halo = await openHalo();
  repository = makeRepository();
});
afterAll(async () => {
  await halo.close();
  repository.remove();
});

it('halo show holds what an agent says of each criterion against the tests that ran, also before a landing', async () => {
  const answer = {
    status: 'ok',
    summary: 'Did it.',
    criteria: [{ n: 1, tests: ['adds up', 'is refused'], files: ['cart.js', 'gone.js'] }],
  };
  const work = `echo x > cart.js; echo y > notes.txt; echo '${JSON.stringify(answer)}'`;
  const gate = 'printf "TAP version 13\\nok 1 - adds up\\n1..1\\n"';
  const { runId, stopReason } = await halo.run(repository.root, [{ id: 'A' }], scripted(work, [gate]));
  expect(stopReason).toBe('SUCCESS');
  const { operations } = halo;
  const shown = await runCli(['show', runId, 'A'], { operations });
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const lines = shown.stdout.split('\n');
  expect(lines.slice(2, 4)).toEqual([
    '  ? It works.',
    '      "adds up", "is refused" (not in the test reports) · cart.js +1 -0 · gone.js (not changed)',
  ]);
  expect(shown.stdout).toContain(
    '  changed  2 files, 2 hunks, +2 -0\n  besides  notes.txt +1 -0\n  ! It adds no test: 1 before, 1 after.',
  );
  const json = JSON.parse((await runCli(['show', runId, '--json'], { operations })).stdout) as unknown;
  expect(json).toMatchObject({ runId, stories: [{ id: 'A', files: [{ path: 'cart.js' }, { path: 'notes.txt' }] }] });
  expect(await runCli(['show', runId, 'B'], { operations })).toMatchObject({ code: 2 });
  const landed = await runCli(['land', runId], { operations });
  expect(landed.stderr).toContain('A  Story A: 0 of 1 criteria with a test that ran');
  expect(landed.stderr).toContain('! It adds no test: 1 before, 1 after.');
});
