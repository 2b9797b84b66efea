import { execFileSync } from 'node:child_process';
import Docker from 'dockerode';
import { pino } from 'pino';
import { describe, expect, vi } from 'vitest';
import { createIdleContext } from '../../../src/worker/create-worker-context.ts';
import { sweepOrphans } from '../../../src/worker/recovery/sweep-orphans.ts';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';
import { startAtTerminal } from '../../support/terminal/at-terminal.ts';

/** What is in the shell for an attacker; the words `is` and the results are printed apart from what is typed. */
const LOOK = [
  'say() { echo "$1 is $2;"; }',
  'say rights $(grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status | cut -f 2 | tr "\\n" ,)',
  'say interfaces $(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " ")',
  'say gateway "$(ls /run/halo /var/run/docker.sock 2>&1 | grep -c "No such file")"',
  'say network "$(timeout 2 node -e "fetch(\'http://192.0.2.1\').catch((e) => console.log(e.cause.code))")"',
  'say keys "$(env | grep -ciE "key|token|secret")"',
  'say repository "$(touch /halo/repo/base.git/evil /halo/repo/candidate.git/evil 2>&1 | grep -c "Read-only")"',
  'say root "$(touch /usr/evil 2>&1 | grep -c "Read-only")"',
  'echo evil > deps/tool; git commit -qam evil; git push -q origin HEAD:main 2> /dev/null',
  'printf "\\033]0;evil\\007\\033]52;c;ZXZpbA==\\007\\033[c\\033[6n\\033[21t"; say "all" tried',
].join('\n');

const SETTINGS = [
  'setup=["mkdir deps && echo genuine > deps/tool"]',
  'snapshot.inputs=["README.md"]',
  'snapshot.recheck=0',
];

const STORY = 'shell-attack';
const docker = new Docker();
const filters = JSON.stringify({ label: ['dev.halo.run=debugging', `dev.halo.story=${STORY}`] });
const containers = async (all: boolean) => (await docker.listContainers({ all, filters })).map(({ Id }) => Id);

describe('incident debug-shell: a debug shell', () => {
  test('reaches nothing, writes nothing back, and ends with its process', async ({ halo, repository }) => {
    repository.write('.gitignore', 'deps\n');
    repository.commit('ignore what is installed');
    const { runId } = await halo.run(
      repository.root,
      [{ id: STORY }],
      scripted(`date > now.txt; ${OK}`, ['false'], SETTINGS),
    );
    const refs = () => repository.git('for-each-ref');
    const refsBefore = refs();
    const open = () =>
      startAtTerminal(['debug', runId], { cwd: repository.root, env: { HALO_HOME: halo.host.home, SOME_KEY: 'x' } });

    const first = open();
    await first.shows('from snapshot');
    await first.shows('agent@');
    first.press(`${LOOK}\n`);
    await first.shows('all is tried;');
    await first.resize(77, 21);
    // The new size arrives some time after it was set, as columns and rows.
    const asksForSize = () => {
      first.press('say size "$(stty size)"\n');
      expect(first.shown()).toContain('size is 21 77;');
    };
    await vi.waitFor(asksForSize, { ...PATIENCE, interval: 500 });
    first.press('exit 3\n');
    expect(await first.ended).toBe(0);
    const shown = first.shown();
    for (const fact of [
      'rights is 0000000000000000,0000000000000000,1,2,;',
      'interfaces is lo;',
      'gateway is 2;',
      'network is ENETUNREACH;',
      'keys is 0;',
      'repository is 2;',
      'root is 1;',
    ])
      expect(shown).toContain(fact);
    // oxlint-disable-next-line no-control-regex -- escape sequences are what it is about
    expect(shown).not.toMatch(/\u001b(?:\]|\[\d*[cnt])/);
    expect(refs()).toBe(refsBefore);
    expect(await containers(true)).toEqual([]);

    const second = open();
    await second.shows('agent@');
    second.press('say() { echo "$1 is $2;"; }; say tool $(cat deps/tool); sleep 1000 &\n');
    await second.shows('tool is genuine;');
    const pids = execFileSync('pgrep', ['-f', `^[^ ]*node [^ ]*halo debug ${runId}`], { encoding: 'utf8' });
    process.kill(Number(pids.trim()), 'SIGKILL');
    await second.ended;
    await vi.waitFor(async () => expect(await containers(false)).toEqual([]), PATIENCE);
    const cleaning = new Set<Promise<void>>();
    const worker = createIdleContext({ host: halo.host, log: pino({ level: 'silent' }), cleaning });
    await sweepOrphans(worker);
    await Promise.all(cleaning);
    expect(await containers(true)).toEqual([]);
    const { Volumes } = await docker.listVolumes({ filters });
    expect(Volumes ?? []).toEqual([]);
    const types = halo.journal(runId).map(({ type }) => type);
    expect(types.slice(-3)).toEqual(['debug.opened', 'debug.closed', 'debug.opened']);

    const third = open();
    await third.shows('agent@');
    third.close();
    await third.ended;
    await vi.waitFor(() => expect(halo.journal(runId).at(-1)).toMatchObject({ type: 'debug.closed' }), PATIENCE);
    await vi.waitFor(async () => expect(await containers(true)).toEqual([]), PATIENCE);
  });
});
