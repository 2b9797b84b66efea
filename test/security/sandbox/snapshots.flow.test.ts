import { describe, expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { snapshotKey } from '../../../src/worker/snapshot/snapshot-key.ts';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const FILES = { '.gitignore': 'deps*/\nnode_modules/\n', 'deps.lock': 'one\n' };
const SETUP = [
  'setup=["sh install.sh"]',
  'snapshot.inputs=["deps.lock"]',
  'snapshot.recheck=0',
  'tests.baseline=never',
];

describe('incident snapshot-poison: a snapshot', () => {
  it('a snapshot of a story that does not land serves no other run', async ({ halo }) => {
    const install = 'mkdir -p deps/bin && cp deps.lock deps/version && echo genuine > deps/bin/tool';
    const { root } = newRepository({ ...FILES, 'install.sh': install });
    const run = (agent: string, gate: string) => halo.run(root, [{ id: 'A' }], scripted(`${agent}; ${OK}`, [gate], SETUP)); // prettier-ignore
    // The inputs that the user names lack the script that the story changes together with the lockfile.
    const evil = `echo two > deps.lock; echo "mkdir -p deps/bin; echo evil > deps/bin/tool" > install.sh`;
    expect((await run(evil, 'false')).stopReason).toBe('GATE_FAILED');
    const honest = await run(`echo two > deps.lock`, 'test "$(cat deps/bin/tool)" = genuine');
    expect(honest.stopReason).toBe('SUCCESS');
  });

  it('a snapshot of an attempt that does not land serves neither the next attempt nor the runs after it', async ({
    halo,
  }) => {
    const install = 'mkdir -p deps/bin && cp deps.lock deps/version && echo genuine > deps/bin/tool';
    const { root } = newRepository({ ...FILES, 'install.sh': install });
    const evil = 'echo "mkdir -p deps/bin; echo evil > deps/bin/tool" > install.sh';
    // Only the prompt of a later attempt has the output of the gate.
    const agent = `cat > /tmp/prompt; grep -q failure-2 /tmp/prompt || grep -qx two deps.lock || ${evil}
echo two > deps.lock; date > "$(date +%N).txt"; ${OK}`;
    const gate = 'grep -qx genuine deps/bin/tool || { echo failure-$((1 + 1)); exit 1; }';
    const run = await halo.run(root, [{ id: 'A' }, { id: 'B' }], scripted(agent, [gate], [...SETUP, 'retry.attempts=2'])); // prettier-ignore
    expect(run.stories.map(({ progress, attempts }) => [progress, attempts])).toEqual([['passed', 2], ['passed', 1]]); // prettier-ignore
    const installs = halo.journal(run.runId).flatMap((event) => (event.type === 'setup.ended' ? [`${event.story} ${event.phase}`] : [])); // prettier-ignore
    expect(installs).toEqual(['A setup', 'A gates', 'A gates']);
    const next = await halo.run(root, [{ id: 'A' }], scripted(`echo two > deps.lock; ${OK}`, [gate], SETUP));
    expect(next.stopReason).toBe('SUCCESS');
    expect(halo.journal(next.runId).map(({ type }) => type)).not.toContain('setup.ended');
  });

  it('does not contain what a script of a story installs: a postinstall makes the whole tree an input', async () => {
    const lock = { name: 'x', version: '1.0.0', lockfileVersion: 3, requires: true, packages: { '': { name: 'x', version: '1.0.0' } } }; // prettier-ignore
    const repository = newRepository({
      'package.json': '{"name":"x","version":"1.0.0"}\n',
      'package-lock.json': `${JSON.stringify(lock)}\n`,
    });
    const { config } = resolveConfig({ cwd: '/', set: ['setup=["npm ci"]'] });
    const at = { gitDir: `${repository.root}/.git`, signal: new AbortController().signal };
    const keyOf = (commit: string) =>
      snapshotKey({ ...at, commit }, { config, image: 'sha256:1', architecture: 'x64' });
    const honest = await keyOf(repository.git('rev-parse', 'HEAD'));
    expect(honest.inputs).toEqual(expect.arrayContaining(['package.json', 'package-lock.json']));
    const evil = { name: 'x', version: '1.0.0', scripts: { postinstall: 'sh evil.sh' } };
    repository.write('package.json', `${JSON.stringify(evil)}\n`);
    const poisoned = await keyOf(repository.commit('evil'));
    expect(poisoned.inputs).toEqual({ why: expect.stringContaining('package.json') as string });
    repository.write('evil.sh', 'mkdir -p node_modules; echo evil > node_modules/evil');
    const keys = [honest, poisoned, await keyOf(repository.commit('more evil'))].map(({ key }) => key);
    expect(new Set(keys).size).toBe(3);
  });

  it('is not one for which a branch or a request has left out inputs, although the others are the same', async () => {
    const repository = newRepository({
      'package.json': '{"name":"x"}\n',
      'package-lock.json': '{"packages":{"":{}}}\n',
    });
    const keyOf = (commit: string, ...more: string[]) => {
      const { config } = resolveConfig({ cwd: '/', set: ['setup=["npm ci"]', ...more] });
      const at = { gitDir: `${repository.root}/.git`, commit, signal: new AbortController().signal };
      return snapshotKey(at, { config, image: 'sha256:1', architecture: 'x64' });
    };
    const honest = await keyOf(repository.git('rev-parse', 'HEAD'));
    expect(honest.inputs).toEqual(['package-lock.json', 'package.json']);
    // npm runs the programs that this file names.
    repository.write('binding.gyp', '{}');
    const evil = await keyOf(repository.commit('evil'), 'snapshot.inputs=["package.json","package-lock.json"]');
    expect(evil.inputs).toEqual(honest.inputs);
    expect(evil.key).not.toBe(honest.key);
  });
});
