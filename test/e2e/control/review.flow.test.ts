import { expect } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { serveApi } from '../../../src/api/http/serve-api.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { it } from '../../support/fixtures.ts';
import { scripted } from '../../support/halo/halo.ts';

it('halo show compares the agent’s claims about each criterion with the tests that ran, also before a landing', async ({
  halo,
  repository,
}) => {
  const answer = {
    status: 'ok',
    summary: 'Did it.',
    criteria: [{ n: 1, tests: ['adds up', 'is refused'], files: ['cart.js', 'gone.js'] }],
  };
  const work = `echo x > cart.js; echo y > notes.txt; echo '${JSON.stringify(answer)}'`;
  const gate = 'printf "TAP version 13\\nok 1 - adds up\\n1..1\\n"';
  const { runId, stopReason } = await halo.run(
    repository.root,
    [{ id: 'A' }],
    scripted(work, [gate], ['tests.baseline=auto']),
  );
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
    '  changed  2 files, 2 hunks, +2 -0\n  other    notes.txt +1 -0\n  ! It adds no test: 1 before, 1 after.',
  );
  const json = JSON.parse((await runCli(['show', runId, '--json'], { operations })).stdout) as unknown;
  expect(json).toMatchObject({ runId, stories: [{ id: 'A', files: [{ path: 'cart.js' }, { path: 'notes.txt' }] }] });
  expect(await runCli(['show', runId, 'B'], { operations })).toMatchObject({ code: 2 });
  const landed = await runCli(['land', runId], { operations });
  expect(landed.stderr).toContain('A  Story A: 0 of 1 criteria with a test that ran');
  expect(landed.stderr).toContain('! It adds no test: 1 before, 1 after.');
});

it('a large file and a changed lock file are in status and show, and are reported before a landing', async ({
  halo,
  repository,
}) => {
  const work = `head -c 2097152 /dev/zero | tr '\\0' x > data.txt; echo '{}' > package-lock.json; echo '{"status":"ok","summary":"Did it."}'`;
  const { runId, stopReason } = await halo.run(repository.root, [{ id: 'A' }], scripted(work, ['true']));
  expect(stopReason).toBe('SUCCESS');
  const { operations } = halo;
  const { stdout: status } = await runCli(['status', runId], { operations });
  expect(status).toContain('large    A: adds data.txt (2.0 MiB)\nlocks    A: changes package-lock.json\n');
  const { stdout: shown } = await runCli(['show', runId, 'A'], { operations });
  expect(shown).toContain('  ! large: adds data.txt (2.0 MiB)\n  ! locks: changes package-lock.json\n');
  const { stdout: logs } = await runCli(['logs', runId], { operations });
  expect(logs).toContain('warning: changes package-lock.json');
  const { stderr } = await runCli(['land', runId], { operations });
  expect(stderr).toContain('warning: A: adds data.txt (2.0 MiB)\nwarning: A: changes package-lock.json\n');
});

it('the diff of a failed story is that of its last attempt, and is available over HTTP with the debug bundle', async ({
  halo,
  repository,
}) => {
  const work = `echo x >> tried.txt; echo '{"status":"ok","summary":"Did it."}'`;
  const { runId } = await halo.run(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(work, ['false']));
  const host = { home: halo.home, redisUrl: undefined, apiUrl: undefined, apiToken: 'token-of-a-test-0123456789' };
  const served = await serveApi({ operations: halo.operations, listen: '127.0.0.1:0', host });
  try {
    const remote = openHttp({ url: served.url, token: host.apiToken });
    for (const operations of [halo.operations, remote]) {
      expect((await operations.readDiff({ runId, story: 'A' })).toString()).toContain(
        '+++ b/tried.txt\n@@ -0,0 +1 @@\n+x\n',
      );
      await expect(operations.readDiff({ runId, story: 'B' })).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
      const shown = await runCli(['diff', runId, '--story', 'A', '--name-only'], { operations });
      expect(shown).toMatchObject({ code: 0, stdout: 'tried.txt\n' });
      const summary = (
        await operations.readArtifact({ runId, path: 'debug_bundle/summary.md', whole: false })
      ).toString();
      expect(summary).toContain('GATE_FAILED');
    }
  } finally {
    await served.close();
  }
});
