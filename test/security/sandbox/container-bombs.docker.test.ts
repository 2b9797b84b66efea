import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, onTestFinished } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { attack, EAT, expectNoResidue, expectOutOfMemory } from './hostile-agent.ts';

/** Processes of this machine, in sandboxes and outside, whose command contains the text. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

describe('incident terminals: an agent that uses the terminals of others', () => {
  it('finds no terminal of the host, and is limited to its share', async ({ halo }) => {
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
    const { state, repository } = await attack(halo, `${look}; ${OK}`);
    expect(state.stopReason).toBe('SUCCESS');
    const found = repository.git('show', `halo/${state.runId}:found`).replaceAll('\r', '').split('\n');
    expect(found).toEqual(["[False, False, False, 'ENXIO', 'ENOSPC'] [] 64", '/dev/pts/0']);
  });
});

describe('attack 17: a hostile agent', () => {
  it('forks without end (hazard 14): it stops at the process limit, another story is not affected, and none of its processes remains', async ({
    halo,
  }) => {
    const bomb = `bomb_${randomBytes(6).toString('hex')}`;
    let most = 0;
    const counting = setInterval(() => (most = Math.max(most, processesWith(bomb).length)), 200);
    onTestFinished(() => clearInterval(counting));
    const [{ state }, unharmed] = await Promise.all([
      attack(halo, `bash -c '${bomb}() { ${bomb} | ${bomb} & }; ${bomb}; sleep 1.5' 2>/dev/null; ${OK}`),
      halo.run(newRepository().root, [{ id: 'B' }], scripted(`echo x > x; ${OK}`, [], ['limits.memory="256m"'])),
    ]);
    expect(state.status).toBe('ended');
    expect(unharmed.stopReason).toBe('SUCCESS');
    await expectNoResidue(unharmed.runId);
    expect(most).toBeGreaterThan(10);
    await expect.poll(() => processesWith(bomb)).toEqual([]);
  });

  it('allocates memory in a child, and continues (hazard 13): it ends with OUT_OF_MEMORY', async ({ halo }) => {
    expectOutOfMemory(await attack(halo, `${EAT}; echo "it ended with $?" >&2; exit 1`));
  });

  it('fills the folders in memory: they count as its memory, or reach their size limit', async ({ halo }) => {
    const { state } = await attack(halo, `dd if=/dev/zero of=/tmp/x bs=1M count=600; echo x > x; ${OK}`);
    expect(['OUT_OF_MEMORY', 'SUCCESS']).toContain(state.stopReason);
  });

  it('fills the disk (hazard 17): it is killed, and none of its volumes stays', async ({ halo }) => {
    const fill = 'i=0; while :; do i=$((i+1)); dd if=/dev/zero of=f$i bs=1M count=16 2>/dev/null; sleep 0.2; done';
    const { state, story, says } = await attack(halo, fill, { settings: ['limits.disk="64m"'] });
    expect([state.stopReason, story]).toEqual(['ENGINE_ERROR', 'ENGINE_ERROR']);
    expect(says).toMatch(/the workspace is larger than \d+\w \(limits\.disk\)/);
  });
});

describe('attacks 14, 15 and 40, incident internal-network: a hostile agent', () => {
  it('looks for other runs, the host and a network: it finds only its own workspace', async ({ halo }) => {
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
    const repository = newRepository({});
    const settings = (script: string) => scripted(script, [], ['limits.memory="256m"']);
    const other = await halo.submit(victim.root, [{ id: 'V' }], settings(`${HOLD}; echo x > x; ${OK}`));
    await expect.poll(() => halo.journal(other).map(({ type }) => type)).toContain('agent.launched');
    const script = `${spy.join('\n')}\n echo x > x; ${OK}`;
    const spying = await halo.run(repository.root, [{ id: 'S' }], settings(script));
    const ended = halo.untilEnd(other);
    await releaseUntil(
      () => [other],
      async () => expect((await halo.operations.getRun({ runId: other })).state.status).toBe('ended'),
    );
    const { stopReason } = await ended;
    for (const runId of [other, spying.runId]) await expectNoResidue(runId);
    expect([stopReason, spying.stopReason]).toEqual(['SUCCESS', 'SUCCESS']);
    expect(repository.git('show', `halo/${spying.runId}:found`)).toBe('');
  });
});
