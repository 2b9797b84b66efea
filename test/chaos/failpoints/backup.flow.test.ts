import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import { FAULTS, type Failpoint, type Fault } from '../../../src/core/failure/failpoint-names.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { readHomeId } from '../../../src/queue/redis/connect-redis.ts';
import { openStore } from '../../../src/store/store.ts';
import { BACKUP_POINTS } from '../../support/faults/points.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { hostOf } from '../../support/halo/host.ts';
import { created } from '../../support/journal.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';

const RUNS = ['0tbq1aaaaaaaaaaa', '0tbq2bbbbbbbbbbb'];

const faults = LEVEL < FULL ? FAULTS.filter((fault) => fault === 'kill') : FAULTS;
const CASES = BACKUP_POINTS.flatMap((at) => faults.map((fault) => [at, fault] as const));

describe.concurrent('hazard 1: halo backup or restore with a fault is repeated, and leaves nothing half', () => {
  it.for(CASES)('%s: %s', async ([at, fault], { task }) => {
    const home = openHome();
    const [dir, target] = [tempDir('halo-backups'), join(tempDir('halo-restored'), 'home')];
    const file = join(dir, 'backup.tar.gz');
    try {
      await fill(home);
      const [backup, restore] = [
        ['backup', file],
        ['restore', file, '--home', target, '--take-over'],
      ];
      const isBackup = at === 'backup.written';
      if (isBackup) {
        await callWith(home, { words: backup, at, fault });
        if (fault !== 'delay') expect(existsSync(file)).toBe(false);
      }
      if (!existsSync(file)) expect(await home.halo(backup, { cwd: dir })).toMatchObject({ code: 0 });
      // What the killed one left is gone.
      expect(readdirSync(dir)).toEqual(['backup.tar.gz']);
      if (!isBackup) {
        await callWith(home, { words: restore, at, fault });
        if (fault !== 'delay') await expectNothingHalf(target, at);
      }
      if (!existsSync(join(target, 'id'))) expect(await home.halo(restore, { cwd: dir })).toMatchObject({ code: 0 });
      expect(readdirSync(target)).toEqual(['id', 'runs']);
      const operations = openLocal({ host: hostOf(target) });
      expect((await operations.listRuns()).runs.map(({ runId }) => runId)).toEqual([...RUNS].reverse());
      await operations.close();
      expect(readFileSync(join(target, 'id'))).toEqual(readFileSync(join(home.dir, 'id')));
      task.meta.chaos = [{ at, fault, outcome: fault === 'delay' ? 'continues' : 'repeat safely' }];
    } finally {
      await home.close();
    }
  });
});

/** Either nothing has a name, or the folder is refused until the rest has its names. */
async function expectNothingHalf(target: string, at: Failpoint): Promise<void> {
  const names = readdirSync(target);
  if (at === 'restore.verified') return expect(names.filter((name) => !name.startsWith('restore.new-'))).toEqual([]);
  expect(names).toContain('.restored');
  await expect(readHomeId(target)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
}

async function fill({ dir }: HaloHome): Promise<void> {
  await readHomeId(dir);
  const store = openStore(dir, { transcribe });
  const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
  for (const runId of RUNS) await store.createRun(created(runId, 1), origin);
}

async function callWith(
  home: HaloHome,
  { words, at, fault }: { words: string[]; at: Failpoint; fault: Fault },
): Promise<void> {
  const armed = `${at}@1:${fault}${fault === 'delay' ? '=200' : ''}`;
  const first = home.start(words, { cwd: home.dir, env: { HALO_FAILPOINT: armed } });
  if (fault === 'hang') {
    await first.says(`failpoint ${at}: hang`);
    first.process.kill('SIGKILL');
  }
  const { code, stderr } = await first.ended;
  if (fault === 'kill' || fault === 'hang') expect(first.process.signalCode, stderr).toBe('SIGKILL');
  else expect(code === 0, stderr).toBe(fault === 'delay');
}
