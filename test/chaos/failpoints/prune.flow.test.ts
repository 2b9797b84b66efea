import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import { FAULTS, type Failpoint, type Fault } from '../../../src/core/failure/failpoint-names.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { openStore } from '../../../src/store/store.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { hostOf } from '../../support/halo/host.ts';
import { created, failed } from '../../support/journal.ts';
import { casesAtLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { PRUNE_POINTS } from '../../support/faults/points.ts';

vi.setConfig({ maxConcurrency: 2 });

const OLD = '0tbq1aaaaaaaaaaa';
const NEW = '0tbq2bbbbbbbbbbb';
const OPEN = '0tbq3ccccccccccc';
/** The older run goes as a whole, and the artifacts of the newer one. */
const WORDS = ['prune', '--yes', '--json', '--runs', '0', '--max-size'];

const faults = LEVEL < FULL ? FAULTS.filter((fault) => fault === 'kill') : FAULTS;
const CASES = PRUNE_POINTS.flatMap((at) => faults.map((fault) => [at, fault] as const));

describe.concurrent('hazard 1: halo prune with a fault is repeated, and leaves a consistent home', () => {
  it.for(CASES)('%s: %s', async ([at, fault], { task }) => {
    const home = openHome();
    const operations = openLocal({ host: hostOf(home.dir) });
    try {
      const words = [...WORDS, await fill(home)];
      await pruneWith(home, { words, at, fault });
      // Nothing is damaged in between, whatever is already gone.
      const between = (await operations.listRuns()).runs;
      expect(between.map(({ runId }) => runId)).toEqual(expect.arrayContaining([OPEN, NEW]));
      expect(await home.halo(words, { cwd: home.dir })).toMatchObject({ code: 0 });
      expect((await operations.listRuns()).runs.map(({ runId }) => runId)).toEqual([OPEN, NEW]);
      expect(readdirSync(join(home.dir, 'runs')).toSorted()).toEqual([NEW, OPEN]);
      expect(existsSync(join(home.dir, 'runs', NEW, 'artifacts/us-001/1/a.log'))).toBe(false);
      expect(existsSync(join(home.dir, 'runs', OPEN, 'artifacts/us-001/1/a.log'))).toBe(true);
      const { state } = await operations.getRun({ runId: NEW });
      expect(state).toMatchObject({ status: 'ended', pruned: {} });
      const outcome = fault === 'delay' ? 'continues' : 'repeat safely';
      task.meta.chaos = [{ at, fault, outcome }];
    } finally {
      await operations.close();
      await home.close();
    }
  });
});

describe('hazard 1: halo prune that is killed between two of its removals', () => {
  it.for(casesAtLevel(['prune.before@2'], ['prune.moved@2']))(
    '%s: what is gone is gone, the rest is whole, and the next one removes it',
    async (at) => {
      const home = openHome();
      const operations = openLocal({ host: hostOf(home.dir) });
      try {
        await fill(home);
        // A recent record, so that the clock is not in doubt.
        writeFileSync(join(home.dir, 'retention.json'), JSON.stringify({ v: 1, at: new Date().toISOString() }));
        const words = ['prune', '--yes', '--json', '--journals-older-than', '1d'];
        const killed = await home.halo(words, { cwd: home.dir, env: { HALO_FAILPOINT: `${at}:kill` } });
        expect(killed.code, killed.stderr).toBeNull();
        const between = (await operations.listRuns()).runs.map(({ runId }) => runId);
        expect(between).toEqual(at === 'prune.before@2' ? [OPEN, NEW] : [OPEN]);
        for (const runId of between) expect((await operations.getRun({ runId })).state.runId).toBe(runId);
        expect(await home.halo(words, { cwd: home.dir })).toMatchObject({ code: 0 });
        expect(readdirSync(join(home.dir, 'runs'))).toEqual([OPEN]);
        expect((await operations.listRuns()).runs.map(({ runId }) => runId)).toEqual([OPEN]);
      } finally {
        await operations.close();
        await home.close();
      }
    },
  );
});

/** Two ended runs and an open one. Returns a maximum size for which one of them has to go. */
async function fill({ dir }: HaloHome): Promise<string> {
  let seconds = 0;
  const now = () => new Date(Date.UTC(2025, 0, 1, 0, 0, seconds++));
  const store = openStore(dir, { transcribe, now });
  const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
  const end: JournalEntry = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed' };
  for (const runId of [OLD, NEW, OPEN]) {
    await store.createRun(created(runId, 1), origin);
    await store.append(runId, [{ type: 'run.started' }, ...failed('US-001'), ...(runId === OPEN ? [] : [end])]);
    const folder = join(dir, 'runs', runId, 'artifacts/us-001/1');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'a.log'), 'x'.repeat(100_000));
  }
  // The journal of the older one is what makes it too much.
  writeFileSync(join(dir, 'runs', OLD, 'progress.md'), 'x'.repeat(1_000_000));
  return '500k';
}

async function pruneWith(
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
