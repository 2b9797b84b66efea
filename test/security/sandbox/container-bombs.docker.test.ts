import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { storyKey } from '../../../src/core/run/story-key.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';

const docker = new Docker();
const MIB = 1024 ** 2;

let halo: TestHalo;
let repository: TestRepository;
let runId = '';
beforeAll(async () => {
  halo = await openHalo();
});
afterAll(() => halo.close());
afterEach(async () => {
  await residue(runId);
});

/** Runs one story with a hostile agent, which is a shell script, to its end. */
async function attack(script: string, settings: string[], gates: string[] = []): Promise<RunState> {
  repository = newRepository({});
  const limits = [
    'limits.memory="256m"',
    'limits.pids=64',
    'limits.wall="40s"',
    'limits.idle="40s"',
    'tests.baseline=never',
  ];
  const state = await halo.run(repository.root, [{ id: 'US-1' }], scripted(script, gates, [...limits, ...settings]));
  runId = state.runId;
  return state;
}

/** Nothing of a run may stay: no container, no volume, no folder for its sockets. */
async function residue(run: string): Promise<void> {
  await expect
    .poll(async () => {
      const filters = { label: [`dev.halo.run=${run}`] };
      const [containers, volumes] = await Promise.all([
        docker.listContainers({ all: true, filters }),
        docker.listVolumes({ filters: JSON.stringify(filters) }),
      ]);
      return [...containers.map(({ Names }) => Names), ...volumes.Volumes.map(({ Name }) => Name)];
    }, PATIENCE)
    .toEqual([]);
}

async function freeBytes(): Promise<number> {
  const { bavail, bsize } = await statfs('/var/lib/docker').catch(() => statfs('/'));
  return bavail * bsize;
}

function processes(): number {
  return Number(readFileSync('/proc/loadavg', 'utf8').split('/')[1]?.split(' ')[0]);
}

const outcome = ({ stories: [story], stopReason }: RunState) => ({
  stopReason,
  story: story?.stopReason,
  says: story?.summary ?? '',
});

describe('incident terminals: an agent that uses the terminals of others', () => {
  it('finds no terminal of the host, and is limited to its share', async () => {
    const look = `cat > look.py <<'END'
import errno, fcntl, os, termios
own = [os.isatty(fd) for fd in (0, 1, 2)]
try: os.open('/dev/tty', os.O_RDWR)
except OSError as error: own.append(errno.errorcode[error.errno])
there = [name for name in os.listdir('/dev/pts') if name != 'ptmx']
taken = []
try:
    while len(taken) < 200: taken.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))
except OSError as error: own.append(errno.errorcode[error.errno])
print(own, there, len(taken))
END
python3 look.py > found; script -qec 'tty' /dev/null < /dev/null >> found`;
    const state = await attack(`${look}; ${OK}`, []);
    expect(outcome(state).stopReason).toBe('SUCCESS');
    const found = repository.git('show', `halo/${state.runId}:found`).replaceAll('\r', '').split('\n');
    expect(found).toEqual(["[False, False, False, 'ENXIO', 'ENOSPC'] [] 64", '/dev/pts/0']);
  });
});

describe('attack 17, incident endless-depth: a hostile agent', () => {
  it(
    'creates nested folders, deeper than the engine may have files open: all are removed',
    skipFor(belowFull()),
    async () => {
      const dig = `python3 -c "
import os
for i in range(21000):
    os.mkdir('d'); os.chdir('d')"`;
      const state = await attack(`${dig}; echo x > x; ${OK}`, []);
      expect(state.status).toBe('ended');
    },
  );
});

describe('attack 17: a hostile agent', () => {
  it('forks without end (hazard 14): it stops at the process limit, and the machine has as many processes as before', async () => {
    const before = processes();
    const bomb = `bash -c 'b() { b | b & }; b; sleep 5' 2>/dev/null; ${OK}`;
    const state = await attack(bomb, []);
    expect(state.status).toBe('ended');
    expect(processes()).toBeLessThan(before + 200);
  });

  it('starts ten thousand idle processes (hazard 14): they end with it, and another story is not affected', async () => {
    const other = newRepository();
    const idle = `i=0; while [ $i -lt 10000 ]; do sleep 600 & i=$((i+1)); done; wait`;
    const [state, unharmed] = await Promise.all([
      attack(idle, ['limits.wall="10s"']),
      halo.run(other.root, [{ id: 'B' }], scripted(`echo x > x; ${OK}`, [], ['limits.memory="256m"'])),
    ]);
    expect(['ENGINE_ERROR', 'TIMEOUT']).toContain(outcome(state).story);
    expect(unharmed.stopReason).toBe('SUCCESS');
    await residue(unharmed.runId);
  });

  const EAT = `node -e 'const a=[];for(;;)a.push(Buffer.alloc(8e6,1))'`;
  it.each(
    casesAtLevel<[string, string, string[]]>(
      [
        ['in a child, and continues', `${EAT}; echo "it ended with $?" >&2; exit 1`, []],
        ['in a gate', `echo x > x; ${OK}`, [EAT]],
      ],
      [
        ['itself', `exec ${EAT}`, []],
        ['in a child of a gate', `echo x > x; ${OK}`, [`${EAT}; exit 1`]],
      ],
    ),
  )('allocates memory %s (hazard 13): it ends with OUT_OF_MEMORY', async (_where, agent, gates) => {
    const state = await attack(agent, [], gates);
    expect(outcome(state)).toMatchObject({ stopReason: 'OUT_OF_MEMORY', story: 'OUT_OF_MEMORY' });
    expect(outcome(state).says).toMatch(/ran out of memory|probably for its memory/);
  });

  it('fills the folders in memory: they count as its memory, or reach their size limit', async () => {
    const state = await attack(`dd if=/dev/zero of=/tmp/x bs=1M count=2000; echo x > x; ${OK}`, []);
    expect(['OUT_OF_MEMORY', 'SUCCESS']).toContain(outcome(state).stopReason);
  });

  it('fills the disk (hazard 17): it is killed, and the disk is as free as before', async () => {
    const before = await freeBytes();
    const fill = 'i=0; while :; do i=$((i+1)); dd if=/dev/zero of=f$i bs=1M count=32 2>/dev/null; sleep 0.2; done';
    const state = await attack(fill, ['limits.disk="128m"']);
    expect(outcome(state)).toEqual({
      stopReason: 'ENGINE_ERROR',
      story: 'ENGINE_ERROR',
      says: expect.stringMatching(/the workspace is larger than \d+\w \(limits\.disk\)/) as string,
    });
    await residue(state.runId);
    await expect.poll(freeBytes).toBeGreaterThan(before - 400 * MIB);
  });

  it('creates files without end (hazard 17): it is killed', async () => {
    const fill = `python3 -c "
import os
n = 0
while True:
    n += 1
    open(f'f{n}', 'x').close()"`;
    const state = await attack(fill, ['limits.disk="64m"']);
    expect(outcome(state).says).toContain('(limits.disk)');
  });

  it('writes one endless file: it stops at the file size limit', async () => {
    const state = await attack(`head -c 300000000 /dev/zero > big; ls -l big | cut -d' ' -f5 > size; rm big; ${OK}`, [
      'limits.file_size="16m"',
    ]);
    expect(outcome(state).stopReason).toBe('SUCCESS');
    expect(repository.git('show', `halo/${state.runId}:size`)).toBe(String(16 * MIB));
  });

  it('prints without end: it is killed, and a limited part of the output is kept', async () => {
    const before = process.memoryUsage().rss;
    const state = await attack('yes flood', ['limits.output="4m"']);
    expect(outcome(state)).toMatchObject({ story: 'ENGINE_ERROR' });
    expect(outcome(state).says).toContain('(limits.output)');
    expect(halo.readFile(state.runId, 'events.jsonl').length).toBeLessThan(5 * MIB);
    expect(process.memoryUsage().rss).toBeLessThan(before + 300 * MIB);
  });

  it('prints errors without end: the last part is kept, with the number of missing bytes', async () => {
    const state = await attack(`head -c 20000 /dev/zero | tr '\\0' x >&2; echo the end >&2; touch file; ${OK}`, []);
    expect(outcome(state).stopReason).toBe('SUCCESS');
    const kept = halo.readFile(state.runId, `artifacts/${storyKey('US-1')}/1/agent.stderr.log`);
    // Of 20000 and the last line, all but 8 KiB.
    expect(kept.slice(0, kept.indexOf(']') + 1)).toBe(`[halo: ${20_008 - 8_192} bytes are missing here]`);
    expect(kept).toMatch(/xxxthe end\n$/);
  });

  it('ignores signals and never ends (hazards 19, 20): it reaches the time limit', async () => {
    const state = await attack(`trap '' TERM INT HUP; while :; do echo .; sleep 1; done`, ['limits.wall="3s"']);
    expect(outcome(state)).toMatchObject({ story: 'TIMEOUT' });
    expect(outcome(state).says).toContain('(limits.wall)');
  });

  it('is silent (hazard 19): it reaches the limit of silence', async () => {
    const state = await attack(`trap '' TERM; sleep 600`, ['limits.idle="2s"']);
    expect(outcome(state)).toMatchObject({ story: 'TIMEOUT' });
    expect(outcome(state).says).toContain('(limits.idle)');
  });

  it('leaves gates that fork without end: they fail with a reason', async () => {
    const state = await attack(`echo x > x; ${OK}`, [], ['i=0; while [ $i -lt 99 ]; do sleep 9 & i=$((i+1)); done']);
    expect(outcome(state)).toMatchObject({ story: 'GATE_FAILED' });
    expect(outcome(state).says).toContain('(limits.pids = ');
  });
});

describe('attack 18: a hostile agent', () => {
  it('leaves a process behind that changes files during the export: what lands is one consistent state', async () => {
    const flip = 'while :; do echo a > one; echo a > two; echo b > one; echo b > two; done';
    const state = await attack(
      `echo same > stable; setsid sh -c '${flip}' >/dev/null 2>&1 & sleep 0.5; ${OK}`,
      [],
      ['sleep 1; test "$(cat stable)" = same'],
    );
    expect(outcome(state).stopReason).toBe('SUCCESS');
    const landed = (path: string) => repository.git('show', `halo/${state.runId}:${path}`);
    expect(landed('stable')).toBe('same');
    expect(['a', 'b', '']).toContain(landed('one'));
    expect(repository.git('fsck', '--strict')).not.toMatch(/missing|corrupt|error/);
  });
});

describe('attacks 14, 15 and 40, incident internal-network: a hostile agent', () => {
  it('looks for other runs, the host and a network: it finds only its own workspace', async () => {
    const victim = newRepository({ 'secret.txt': 'of another run' });
    const spy = [
      'find / -name secret.txt -not -path "/proc/*" 2>/dev/null > found',
      'ls /run/halo /var/run/docker.sock /var/lib/docker 2>/dev/null >> found',
      `python3 -c "
import socket
for family, kind in [(40, 1), (38, 5), (17, 3), (2, 3)]:
    try:
        socket.socket(family, kind)
        print('socket', family)
    except OSError: pass
try:
    socket.create_connection(('10.0.0.1', 80), 1)
    print('connected')
except OSError: pass" >> found`,
      'for p in /proc/[0-9]*; do [ -r $p/environ ] && tr "\\\\0" "\\\\n" < $p/environ; done 2>/dev/null | grep -i "halo-home\\|token\\|_key" >> found',
      'true',
    ];
    repository = newRepository({});
    const settings = (script: string) => scripted(script, [], ['limits.memory="256m"']);
    const [other, spying] = await Promise.all([
      halo.run(victim.root, [{ id: 'V' }], settings(`sleep 4; echo x > x; ${OK}`)),
      halo.run(repository.root, [{ id: 'S' }], settings(`sleep 1; ${spy.join('\n')}\n echo x > x; ${OK}`)),
    ]);
    runId = spying.runId;
    await residue(other.runId);
    expect([other.stopReason, spying.stopReason]).toEqual(['SUCCESS', 'SUCCESS']);
    expect(repository.git('show', `halo/${spying.runId}:found`)).toBe('');
  });

  it('runs under a separate user among concurrent attempts', async () => {
    repository = newRepository({});
    const second = newRepository({});
    const settings = scripted(`id -u > uid; sleep 3; ${OK}`, [], ['limits.memory="256m"']);
    const [one, two] = await Promise.all([
      halo.run(repository.root, [{ id: 'A' }], settings),
      halo.run(second.root, [{ id: 'B' }], settings),
    ]);
    runId = one.runId;
    await residue(two.runId);
    const users = [repository.git('show', `halo/${one.runId}:uid`), second.git('show', `halo/${two.runId}:uid`)];
    expect(Number(users[0])).toBeGreaterThanOrEqual(20_000);
    expect(users[0]).not.toBe(users[1]);
  });
});
