import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test as plain } from 'vitest';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { ask, keyValueService } from '../services/key-value-service.ts';

const STORY = [{ id: 'A' }];
/** Text, a file that no patch shows, a removed one, and one that git ignores. */
const CHANGE = `printf '\\001\\000b' > binary; echo new > new.txt; rm README.md; echo left > ignored; ${OK}`;

describe('halo debug', () => {
  test('runs a command in the state of a failed attempt, and records it', async ({ halo, repository }) => {
    repository.write('.gitignore', 'ignored\ndeps\n');
    repository.commit('ignore files');
    const base = repository.git('rev-parse', 'HEAD');
    const settings = scripted(
      CHANGE,
      ['test -e deps', 'exit 4'],
      ['setup=["cat README.md > deps || echo none > deps"]', 'env={ FLAVOR = "sweet" }', ...keyValueService()],
    );
    const { runId, stopReason } = await halo.run(repository.root, STORY, settings);
    expect(stopReason).toBe('GATE_FAILED');
    const debug = (...words: string[]) =>
      callHalo(['debug', runId, ...words], { cwd: repository.root, env: { HALO_HOME: halo.host.home } });
    const look = `od -An -c binary; ls; git status --short; git rev-parse HEAD~0; cat deps; ${ask('get')}; echo $FLAVOR >&2; exit 7`;

    const gates = await debug('--', look);
    expect(gates).toMatchObject({ code: 7 });
    expect(gates.stdout).toMatch(/001 {2}\\0 {3}b\nbinary\ndeps\nnew.txt\n[0-9a-f]{40}\nnone\nnothing\n$/);
    expect(gates.stdout).not.toContain(base);
    expect(gates.stderr).toContain('gate     test -e deps  exited 0\ngate     exit 4  exited 4\n');
    expect(gates.stderr).toContain('sweet\n');

    const agent = await debug('A', '--attempt', '1', '--at', 'agent', '--', 'sh', '-c', look);
    expect(agent.code).toBe(7);
    expect(agent.stdout).toContain(`deps\nnew.txt\n D README.md\n?? binary\n?? new.txt\n${base}\n`);
    // Setup ran before the agent removed what it reads.
    expect(agent.stdout).not.toContain('none');

    const events = halo.journal(runId).filter(({ type }) => type.startsWith('debug.'));
    expect(events).toMatchObject([
      { type: 'debug.opened', story: 'A', attempt: 1, point: 'gates', command: look },
      { type: 'debug.closed', exitCode: 7 },
      { type: 'debug.opened', point: 'agent' },
      { type: 'debug.closed', exitCode: 7 },
    ]);
    expect(await halo.operations.getRun({ runId })).toMatchObject({ state: { status: 'ended', stopReason } });
  });

  test('uses the commit that has landed after the artifacts are gone', async ({ halo, repository }) => {
    const { runId, stories } = await halo.run(repository.root, STORY, scripted(`echo new > new.txt; ${OK}`));
    rmSync(join(halo.host.home, 'runs', runId, 'artifacts', stories[0]!.key, '1', 'change.bundle'));
    const env = { HALO_HOME: halo.host.home };
    const shown = await callHalo(['debug', runId, 'A', '--', 'cat new.txt'], { cwd: repository.root, env });
    expect(shown).toMatchObject({ code: 0, stdout: 'new\n' });
  });
});

describe('halo debug refuses', () => {
  plain.for([
    [['debug', 'x'], {}, 'A shell needs a terminal.'],
    [['debug', 'x', 'A', 'npm', 'test'], {}, '"npm" is one word too many.'],
    [['debug', 'x', '--'], {}, 'There is no command after `--`.'],
    [['debug', 'x', '--', 'true'], { HALO_URL: 'http://127.0.0.1:1' }, 'works only on the machine of the server'],
  ] as const)('%o', async ([words, env, message]) => {
    const refused = await callHalo([...words], { cwd: '/', env: { HALO_HOME: '/nowhere', ...env } });
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain(message);
  });
});
