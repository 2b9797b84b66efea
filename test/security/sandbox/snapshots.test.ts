import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** Makes what an install makes: files that git ignores, from a lockfile. */
const INSTALL = 'mkdir -p deps/bin && cp deps.lock deps/version && echo genuine > deps/bin/tool';
const GENUINE = 'test "$(cat deps/bin/tool)" = genuine';

function project(files: Record<string, string> = {}) {
  const repository = newRepository();
  repository.write('.gitignore', 'deps/\nnode_modules/\n');
  repository.write('deps.lock', 'one\n');
  for (const [path, text] of Object.entries(files)) repository.write(path, text);
  repository.commit('project');
  return repository;
}

function settings(agent: string, gate = GENUINE, more: string[] = []): string[] {
  return scripted(
    `${agent}; ${OK}`,
    [gate],
    [`setup=${JSON.stringify([INSTALL])}`, 'snapshot.inputs=["deps.lock"]', 'snapshot.recheck=0', ...more],
  );
}

const WORK = 'date +%N > work.txt';
const ONE = [{ id: 'A' }];

const MODES = ['overlay', 'copy'] as const;

describe.for(MODES)('incident snapshot-write: with %s', (mode) => {
  it.for([
    ['writes into its files', 'echo evil > deps/bin/tool; cp /bin/true deps/bin/tool2'],
    ['replaces them through hard links', 'ln deps/bin/tool /workspace/link && echo evil > /workspace/link; rm -f link'],
    ['renames and removes folders', 'mv deps/bin deps/old; rm -rf deps'],
    ['makes links in the place of folders', 'rm -rf deps/bin; ln -s /etc deps/bin'],
    ['mounts and remounts', 'mount -o remount,rw /workspace; mount -t overlay overlay /mnt; echo evil > deps/bin/tool'],
    [
      'makes files of other users programs',
      'chmod 6777 deps/bin/tool; chown 0 deps/bin/tool; echo evil > deps/bin/tool',
    ],
  ] as const)('a snapshot stays as it is if an agent %s', async ([, attack], { halo, journal }) => {
    const { root } = project();
    const more = [`snapshot.mode="${mode}"`];
    const first = await halo.run(root, ONE, settings(`{ ${attack}; } 2>/dev/null; ${WORK}`, GENUINE, more));
    expect(first).toMatchObject({ stopReason: 'SUCCESS' });
    const next = await halo.run(root, ONE, settings(`${GENUINE} || exit 9; ${WORK}`, GENUINE, more));
    expect(next).toMatchObject({ stopReason: 'SUCCESS' });
    expect(journal(next.runId).some(({ type }) => type === 'setup.ended')).toBe(false);
  });
});

describe('incident snapshot-poison: a snapshot', () => {
  it('is never made of a workspace in which an agent has worked', async ({ halo }) => {
    const { root } = project();
    // The lockfile is changed and changed back; what is installed is not.
    const agent = `echo two > deps.lock; echo evil > deps/bin/tool; echo one > deps.lock; ${WORK}`;
    const run = await halo.run(root, ONE, settings(agent));
    expect(run.stopReason).toBe('SUCCESS');
    const next = await halo.run(root, ONE, settings(`${GENUINE} || exit 9; ${WORK}`));
    expect(next.stopReason).toBe('SUCCESS');
  });

  it('a snapshot of a story that does not land serves no other run', async ({ halo }) => {
    const { root } = project({ 'install.sh': INSTALL });
    const more = ['setup=["sh install.sh"]', 'snapshot.inputs=["deps.lock"]'];
    // The inputs that the user names lack the script that the story changes together with the lockfile.
    const evil = `echo two > deps.lock; echo "mkdir -p deps/bin; echo evil > deps/bin/tool" > install.sh`;
    expect((await halo.run(root, ONE, settings(evil, 'false', more))).stopReason).toBe('GATE_FAILED');
    const honest = await halo.run(root, ONE, settings(`echo two > deps.lock`, GENUINE, more));
    expect(honest.stopReason).toBe('SUCCESS');
  });

  it('does not contain what a script of a story installs: a postinstall makes the whole tree an input', async ({
    halo,
  }) => {
    const lock = { name: 'x', version: '1.0.0', lockfileVersion: 3, requires: true, packages: { '': { name: 'x', version: '1.0.0' } } }; // prettier-ignore
    const repository = project({
      'package.json': '{"name":"x","version":"1.0.0"}\n',
      'package-lock.json': `${JSON.stringify(lock)}\n`,
    });
    const more = ['setup=["npm ci"]', 'snapshot.recheck=0'];
    const npm = (agent: string, gate: string) => scripted(`${agent}; ${OK}`, [gate], more);
    const evil = `echo '{"name":"x","version":"1.0.0","scripts":{"postinstall":"mkdir -p node_modules; echo evil > node_modules/evil"}}' > package.json`;
    const clean = 'test ! -e node_modules/evil';
    expect((await halo.run(repository.root, ONE, npm(evil, clean))).stopReason).toBe('GATE_FAILED');
    expect((await halo.run(repository.root, ONE, npm(`${clean} || exit 9; ${WORK}`, clean))).stopReason).toBe(
      'SUCCESS',
    );
  });

  it('contains nothing of the caches of package managers, which are in the memory of each sandbox', async ({
    halo,
  }) => {
    const { root } = project();
    const poison = `mkdir -p ~/.npm ~/.cache && echo evil > ~/.npm/evil && echo evil > /tmp/evil; ${WORK}`;
    const gate = `${GENUINE} && test ! -e ~/.npm/evil && test ! -e /tmp/evil`;
    expect((await halo.run(root, ONE, settings(poison, gate))).stopReason).toBe('SUCCESS');
    expect((await halo.run(root, ONE, settings(`${gate} || exit 9; ${WORK}`, gate))).stopReason).toBe('SUCCESS');
  });

  it('is not made of pipes, sockets or set-user-id programs', async ({ halo, journal }) => {
    const { root } = project();
    const refused = await halo.run(root, ONE, settings(WORK, GENUINE, [`setup=${JSON.stringify([`${INSTALL} && mkfifo deps/pipe`])}`])); // prettier-ignore
    expect(refused.stopReason).toBe('SUCCESS');
    expect(journal(refused.runId)).toContainEqual(expect.objectContaining({ type: 'snapshot.refused' }));
    const setuid = `${INSTALL} && cp /bin/true deps/bin/suid && chmod 6755 deps/bin/suid`;
    const gate = 'test ! -u deps/bin/suid && test ! -g deps/bin/suid';
    const run = await halo.run(root, ONE, settings(WORK, gate, [`setup=${JSON.stringify([setuid])}`]));
    expect(run.stopReason).toBe('SUCCESS');
  });
});
