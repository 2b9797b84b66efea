import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { toExposition } from '../../../src/features/telemetry/core/exposition.ts';
import { newRunId } from '../../../src/lib/run-id.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { MetricsFile } from '../../../src/features/telemetry/store/metrics-file.ts';
import { createWorkerContext } from '../../../src/worker/create-worker-context.ts';
import { AFTER_SWEEP } from '../../../src/worker/joined.ts';
import { sweepOrphans, wasAbandoned } from '../../../src/worker/recovery/sweep-orphans.ts';
import { wasSessionAbandoned } from '../../../src/worker/workspace/story-session.ts';
import { hostOf } from '../../support/halo/host.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { asked, attempted, created, failed, passed, stateOf } from '../../support/journal.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };

const after = (...entries: JournalEntry[]) => stateOf(created('r'), ...entries);

const begun = (story: string, epoch: number): JournalEntry => ({ ...attempted(story)[0]!, epoch }) as JournalEntry;

const wasAbandonedLater = (state: Parameters<typeof wasAbandoned>[0], epoch: number) =>
  wasAbandoned(state, epoch, Date.UTC(2030, 0, 1, 1));

describe('a resource of an attempt', () => {
  it('is abandoned when its run has ended or does not exist', () => {
    const ended: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' };
    expect(wasAbandonedLater(after(begun('US-001', 1), ended), 1)).toBe(true);
    expect(wasAbandonedLater('gone', 1)).toBe(true);
  });

  it('is abandoned when its story was taken over or has ended', () => {
    expect(wasAbandonedLater(after(begun('US-001', 1), begun('US-001', 2)), 1)).toBe(true);
    expect(wasAbandonedLater(after(...passed('US-001')), 1)).toBe(true);
  });

  it('is kept while its attempt may still run', () => {
    const both = after(begun('US-001', 1), begun('US-002', 2));
    expect([wasAbandonedLater(both, 1), wasAbandonedLater(both, 2)]).toEqual([false, false]);
    expect(wasAbandonedLater('unreadable', 3)).toBe(false);
  });

  it('is kept while a story runs after which a worker may have prepared the next attempt, and shortly after', () => {
    expect(wasAbandonedLater(after(begun('US-001', 1)), 2)).toBe(false);
    expect(wasAbandonedLater(after(begun('US-001', 1)), 3)).toBe(true);
    const ended = after(...passed('US-001'));
    const end = Date.parse(ended.stories[0]!.endedAt!);
    expect(wasAbandoned(ended, 2, end + 20_000)).toBe(false);
    expect(wasAbandonedLater(ended, 2)).toBe(true);
  });
});

describe('the session of a story', () => {
  const [now, later] = ['2030-01-01T00:00:00.000Z', '2030-01-02T00:00:00.000Z'];
  const KEY = after().stories[0]!.key;
  const ofFirst = (state: Parameters<typeof wasSessionAbandoned>[0], expiresAt = later) =>
    wasSessionAbandoned(state, { storyKey: KEY, expiresAt }, now);
  const ended: JournalEntry = { type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: '' };

  it('is kept until the next attempt, and while a question of the story waits for its answer', () => {
    expect(ofFirst(after())).toBe(false);
    expect(ofFirst(after(begun('US-001', 1)))).toBe(false);
    expect(ofFirst(after(...failed('US-001')))).toBe(false);
    expect(ofFirst(after(...asked('US-001'), ended))).toBe(false);
    expect(ofFirst('unreadable')).toBe(false);
  });

  it('is abandoned when the story or the run has ended, the run is gone, or it has expired', () => {
    expect(ofFirst(after(...passed('US-001')))).toBe(true);
    expect(ofFirst(after({ ...ended, stopReason: 'USER_ABORT' }))).toBe(true);
    expect(ofFirst(after(...failed('US-001'), { ...ended, stopReason: 'GATE_FAILED' }))).toBe(true);
    expect(ofFirst('gone')).toBe(true);
    expect(ofFirst(after(), now)).toBe(true);
    expect(ofFirst(after(begun('US-001', 1)), now), 'an attempt uses it').toBe(false);
  });
});

describe('a sweep', () => {
  const openWorker = (home: string) => {
    const [log, masker] = [pino({ level: 'silent' }), openMasker()];
    const cleaning = new Set<Promise<void>>();
    const now = () => Date.now() + 3_600_000;
    const parts = { host: hostOf(home), homeId: randomUUID(), log, masker, cleaning, shared: undefined, now };
    const joined = { ...parts, afterSweep: AFTER_SWEEP };
    return createWorkerContext(joined);
  };
  const makeFolders = (home: string, runId: string, epochs: readonly number[]) => {
    const folders = epochs.map((epoch) => join(home, 'sockets', `${runId}-e${epoch}-a1`));
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    return { left: () => folders.map((folder) => existsSync(folder)) };
  };

  it('counts what it removed in the metrics of the home', async () => {
    const home = tempDir('halo-sweep');
    const worker = openWorker(home);
    const folders = makeFolders(home, newRunId(new Date(), randomBytes), [1, 2]);
    for (let sweep = 0; sweep < 2; sweep++) await sweepOrphans(worker);
    expect(folders.left()).toEqual([false, false]);
    const { totals } = await new MetricsFile(home).read();
    expect(toExposition(totals, [])).toContain('\nhalo_orphans_swept_total 2\n');
  });

  it('finds the epoch of a folder, whatever the random part of its name and the story key look like', async () => {
    const home = tempDir('halo-sweep');
    const worker = openWorker(home);
    const entry = created();
    await worker.store.createRun(entry, ORIGIN);
    const { runId } = entry;
    await worker.store.transact(runId, () => ({ entries: [begun('US-001', 5)], result: undefined }));
    const attempts = join(home, 'repos', 'shop-1', 'attempts');
    const living = [
      join(home, 'sockets', `${runId}-e5-e12345`),
      join(attempts, `${runId}-us-e7-a1-e5-e12345`),
      join(attempts, `${runId}-us-001-a1-e5-0123ab`),
    ];
    const dead = [
      join(home, 'sockets', `${runId}-e4-e00005`),
      join(attempts, `${runId}-us-e5-a1-e4-e00005`),
      // Of a version whose names have no random part.
      join(attempts, `${runId}-us-e5-a1-e4`),
    ];
    for (const folder of [...living, ...dead]) mkdirSync(folder, { recursive: true });
    await sweepOrphans(worker);
    expect([...living, ...dead].filter((folder) => existsSync(folder))).toEqual(living);
  });

  it('removes the volumes of dead attempts, and keeps those of an attempt that runs', async () => {
    const home = tempDir('halo-sweep');
    const worker = openWorker(home);
    const { engine, homeId } = worker;
    const entry = created();
    await worker.store.createRun(entry, ORIGIN);
    const { runId } = entry;
    await worker.store.transact(runId, () => ({ entries: [begun('US-001', 5)], result: undefined }));
    const volumes = [4, 5].map((epoch) => ({ epoch, name: `halo-sweep-${randomBytes(6).toString('hex')}` }));
    onTestFinished(() => Promise.all(volumes.map(({ name }) => engine.removeVolume(name))).then(() => undefined));
    for (const { epoch, name } of volumes) {
      const labels = { owner: { home: homeId, epoch }, run: runId, storyKey: 'us-001', attempt: 1, phase: 'agent' };
      await engine.createVolume(name, labels, { user: 64_000 });
    }
    await sweepOrphans(worker);
    expect(await Promise.all(volumes.map(({ name }) => engine.hasVolume(name)))).toEqual([false, true]);
    const { totals } = await new MetricsFile(home).read();
    expect(toExposition(totals, [])).toContain('\nhalo_orphans_swept_total 1\n');
  });

  it('keeps what was prepared for an attempt that begins during the sweep', async () => {
    const home = tempDir('halo-sweep');
    const worker = openWorker(home);
    const entry = created();
    await worker.store.createRun(entry, ORIGIN);
    const { runId } = entry;
    const append = (entries: JournalEntry[]) => worker.store.transact(runId, () => ({ entries, result: undefined }));
    await append(passed('US-001'));
    const folders = makeFolders(home, runId, [1, 2]);
    worker.preparedEpochs.set(runId, 2);
    const readState = worker.store.readState.bind(worker.store);
    let reads = 0;
    vi.spyOn(worker.store, 'readState').mockImplementation(async (run) => {
      const state = await readState(run);
      if (reads++ > 0) return state;
      await append([begun('US-002', 2)]);
      worker.preparedEpochs.delete(runId);
      return state;
    });
    await sweepOrphans(worker);
    expect(folders.left()).toEqual([false, true]);
  });
});
