import { describe, expect } from 'vitest';
import { buildRepositorySnapshot } from '../../../src/api/snapshots/build-repository-snapshot.ts';
import { it as base } from '../../support/fixtures.ts';
import { OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** What an agent does to a folder `$d` that setup installed, each to its own. */
const ATTACKS: Record<string, string> = {
  'writes into its files': 'echo evil > $d/bin/tool; cp /bin/true $d/bin/tool2',
  'replaces them through hard links':
    'ln $d/bin/tool /workspace/link && echo evil > /workspace/link; rm -f /workspace/link',
  'renames and removes folders': 'mv $d/bin $d/old; rm -rf $d',
  'makes links in the place of folders': 'rm -rf $d/bin; ln -s /etc $d/bin',
  'mounts and remounts': 'mount -o remount,rw /workspace; mount -t overlay overlay /mnt; echo evil > $d/bin/tool; true',
  'makes files of other users programs':
    'chmod 6777 $d/bin/tool; chown 0 $d/bin/tool; echo evil > $d/bin/tool; chmod 6777 $d/bin/tool',
};
const NAMES = Object.keys(ATTACKS);

/** The lockfile is changed and changed back; what is installed is not. */
const WORKED = 'echo two > deps.lock; echo evil > deps-worked/bin/tool; echo one > deps.lock';
const CACHES = 'mkdir -p ~/.npm ~/.cache; echo evil > ~/.npm/evil; echo evil > /tmp/evil';

const folderOf = (attack: string) => `deps-${NAMES.indexOf(attack)}`;
const FOLDERS = [...NAMES.map(folderOf), 'deps-worked'];

const FILES = {
  '.gitignore': 'deps*/\nnode_modules/\n',
  'deps.lock': 'one\n',
  /** Makes what an install makes: files that git ignores, from a lockfile. */
  'install.sh': `for d in ${FOLDERS.join(' ')}; do
    mkdir -p $d/bin && cp deps.lock $d/version && echo genuine > $d/bin/tool || exit 1
  done
  mkdir deps-setuid && cp /bin/true deps-setuid/tool && chmod 6755 deps-setuid/tool`,
  /** Names what is not as it was installed. */
  'look.sh': `for d in ${FOLDERS.join(' ')}; do
    test "$(cat $d/bin/tool) $(cat $d/version) $(find $d | wc -l)" = 'genuine one 4' && ! test -u $d/bin/tool || echo $d
  done 2>/dev/null
  test -x deps-setuid/tool && ! test -u deps-setuid/tool && ! test -g deps-setuid/tool || echo deps-setuid
  ! test -e ~/.npm/evil || echo npm; ! test -e /tmp/evil || echo tmp`,
  'attack.sh': [...NAMES.map((name) => `d=${folderOf(name)}; ${ATTACKS[name]}`), WORKED, CACHES].join('\n'),
};

const SETUP = [
  'setup=["sh install.sh"]',
  'snapshot.inputs=["deps.lock"]',
  'snapshot.recheck=0',
  'tests.baseline=never',
];

interface Attacked {
  /** What was changed when the agent began, after its attacks, and in its gates. */
  start: string[];
  end: string[];
  gates: string[];
  /** How often setup ran, and the modes of the snapshots that were used. */
  installs: number;
  modes: string[];
}

async function attack(halo: TestHalo, { root, git }: TestRepository, mode: string): Promise<Attacked> {
  const agent = `sh look.sh > start.txt; sh attack.sh 2>/dev/null; sh look.sh > end.txt; ${OK}`;
  const state = await halo.run(
    root,
    [{ id: 'A' }],
    scripted(agent, ['sh look.sh'], [...SETUP, `snapshot.mode="${mode}"`]),
  );
  expect(state).toMatchObject({ stopReason: 'SUCCESS' });
  const events = halo.journal(state.runId);
  const linesOf = (text: string) => text.split('\n').filter(Boolean);
  return {
    start: linesOf(git('show', `halo/${state.runId}:start.txt`)),
    end: linesOf(git('show', `halo/${state.runId}:end.txt`)),
    gates: linesOf(halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/gates/1.log`)),
    installs: events.filter(({ type }) => type === 'setup.ended').length,
    modes: events.flatMap((event) => (event.type === 'snapshot.used' ? [event.mode] : [])),
  };
}

const MODES = ['overlay', 'copy'] as const;

/** One run after the other in the same repository; each one finds what the attacks of the one before have left. */
const it = base.extend('runs', { scope: 'file' }, async ({ halo }) => {
  const project = newRepository(FILES);
  const runs: Attacked[] = [];
  for (const mode of [...MODES, MODES[0]]) runs.push(await attack(halo, project, mode));
  return runs;
});

/** What is changed in the workspaces that begin with the snapshot after the attacks of a run. */
function changedAfter(runs: Attacked[], index: number): string[] {
  const [run, next] = runs.slice(index, index + 2);
  return [...run!.gates, ...next!.start, ...next!.gates];
}

describe.for(MODES)('incident snapshot-write: with %s', (mode) => {
  const index = MODES.indexOf(mode);

  it.for(NAMES)('a snapshot stays as it is if an agent %s', (name, { runs }) => {
    expect(runs[index]!.end, 'the agent changed its own workspace').toContain(folderOf(name));
    expect(changedAfter(runs, index)).not.toContain(folderOf(name));
    expect(runs[index]!.modes).toEqual([mode, mode]);
    expect(runs[index + 1]!.installs).toBe(0);
  });
});

describe('incident snapshot-poison: a snapshot', () => {
  it('is never made of a workspace in which an agent has worked', ({ runs }) => {
    expect(runs[0]!.installs).toBe(1);
    expect(runs[0]!.end).toContain('deps-worked');
    for (const index of [0, 1]) expect(changedAfter(runs, index)).not.toContain('deps-worked');
  });

  it('contains nothing of the caches of package managers, which are in the memory of each sandbox', ({ runs }) => {
    expect(runs[0]!.end).toEqual(expect.arrayContaining(['npm', 'tmp']));
    for (const index of [0, 1]) {
      expect(changedAfter(runs, index)).not.toContain('npm');
      expect(changedAfter(runs, index)).not.toContain('tmp');
    }
  });

  it('is not made of pipes, sockets or set-user-id programs', async ({ halo, runs }) => {
    const { root } = newRepository({ '.gitignore': 'deps/\n' });
    const built = await buildRepositorySnapshot(halo.host, {
      folder: root,
      profile: undefined,
      set: ['setup=["mkdir deps && mkfifo deps/pipe"]', 'snapshot.inputs=[".gitignore"]'],
      signal: new AbortController().signal,
      onOutput: () => Promise.resolve(),
    });
    expect(built).toMatchObject({ state: 'refused', reason: expect.stringContaining('deps/pipe') as string });
    expect([...runs[0]!.start, ...changedAfter(runs, 0)]).not.toContain('deps-setuid');
  });
});
