import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkRetention } from '../../../src/features/retention/api/checks.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { openStore } from '../../../src/store/store.ts';
import type { PruneRequest } from '../../../src/features/retention/api/prune-schemas.ts';
import { reportPrune } from '../../../src/features/retention/api/retention-report.ts';
import { pruneDaily, readLastPrune } from '../../../src/features/retention/worker/prune-daily.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created, failed } from '../../support/journal.ts';

const DAY_MS = 86_400_000;
const RUN = '0tbq1aaaaaaaaaaa';

let home: ScriptedHome;
let dir: string;
beforeEach(async () => {
  home = openScriptedHome();
  dir = home.host.home;
  const end = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed' } as const;
  await home.addRun([created(RUN, 1), { type: 'run.started' }, ...failed('US-001'), end]);
  home.writeArtifact(RUN, 'us-001/1/a.log', 'text');
});
afterEach(() => home.remove());

const configure = (text: string) => writeFileSync(join(dir, 'config.toml'), text);
const artifact = () => join(dir, 'runs', RUN, 'artifacts/us-001/1/a.log');
const daily = (now = Date.now()) =>
  pruneDaily(
    { home: dir, store: openStore(dir, { transcribe }), log: pino({ level: 'silent' }), now: () => now },
    new AbortController().signal,
  );

describe('daily retention', () => {
  it('removes nothing unless [keep] sets something', async () => {
    await daily();
    expect([existsSync(artifact()), await readLastPrune(dir)]).toEqual([true, expect.stringMatching(/^20/)]);
    expect(await checkRetention(dir)).toMatchObject({
      ok: 'ok',
      says: expect.stringContaining('sets nothing') as string,
    });
  });

  it('removes once a day what [keep] does not keep', async () => {
    configure('[keep]\nruns = 0\n');
    await daily();
    expect(existsSync(artifact())).toBe(false);
    const { state } = await home.operations.getRun({ runId: RUN });
    expect(state.pruned).toMatchObject({ by: 'retention' });
    home.writeArtifact(RUN, 'us-001/1/a.log', 'text');
    await daily();
    expect(existsSync(artifact())).toBe(true);
    writeFileSync(join(dir, 'retention.json'), JSON.stringify({ v: 1, at: '2020-01-01T00:00:00Z' }));
    await daily();
    expect(existsSync(artifact())).toBe(false);
    expect(await checkRetention(dir)).toMatchObject({
      says: expect.stringContaining('last daily removal: 20') as string,
    });
  });

  it.each(['', '\0\0\0', '{"v": 1', '[]', '{"at": "no date"}'])(
    'is done again if its time is damaged: %j',
    async (text) => {
      configure('[keep]\nruns = 0\n');
      writeFileSync(join(dir, 'retention.json'), text);
      await daily();
      expect(existsSync(artifact())).toBe(false);
      expect(JSON.parse(readFileSync(join(dir, 'retention.json'), 'utf8'))).toMatchObject({ v: 1 });
    },
  );

  it('is tried again an hour after it failed', async () => {
    configure('[keep]\nruns = 0\n');
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const at = '2020-01-01T00:00:00Z';
    writeFileSync(join(dir, 'retention.json'), JSON.stringify({ v: 1, at, triedAt: ago(59) }));
    await daily();
    expect([existsSync(artifact()), await readLastPrune(dir)]).toEqual([true, at]);
    writeFileSync(join(dir, 'retention.json'), JSON.stringify({ v: 1, at, triedAt: ago(61) }));
    await daily();
    expect(existsSync(artifact())).toBe(false);
  });

  it('records when it began, so that a failure is not repeated every minute', async () => {
    configure('[keep]\nruns = 0\n');
    const fail = () => Promise.reject(new Error('no list'));
    const store = { ...openStore(dir, { transcribe }), findOpenRuns: fail };
    const log = pino({ level: 'silent' });
    await expect(pruneDaily({ home: dir, store, log, now: Date.now }, new AbortController().signal)).rejects.toThrow(
      'no list',
    );
    await daily();
    expect(existsSync(artifact())).toBe(true);
  });

  it('hazard 33: removes nothing for a day if the clock is far ahead of everything that the home has recorded', async () => {
    configure('[keep]\nartifacts = "30d"\n');
    const { state } = await home.operations.getRun({ runId: RUN });
    const ahead = Date.parse(state.endedAt!) + 400 * DAY_MS;
    for (const now of [ahead, ahead + DAY_MS / 2, ahead - 399 * DAY_MS, ahead]) await daily(now);
    expect(existsSync(artifact())).toBe(true);
    await daily(ahead + DAY_MS);
    expect(existsSync(artifact())).toBe(false);
  });

  it('removes nothing by age then at a command either, but by number', async () => {
    const { state } = await home.operations.getRun({ runId: RUN });
    const ahead = Date.parse(state.endedAt!) + 400 * DAY_MS;
    const prune = (now: number, limits: PruneRequest) =>
      reportPrune({ home: dir, store: openStore(dir, { transcribe }), by: 'ann', now: () => now }, limits);
    const removed = expect.objectContaining({ removed: [expect.objectContaining({ runId: RUN })] }) as object;
    expect(await prune(ahead, { artifacts: '30d', dryRun: true })).toEqual(removed);
    for (const now of [ahead, ahead + DAY_MS / 2])
      await expect(prune(now, { artifacts: '30d' })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    expect(existsSync(artifact())).toBe(true);
    expect(await prune(ahead + DAY_MS, { artifacts: '30d' })).toEqual(removed);
    home.writeArtifact(RUN, 'us-001/1/a.log', 'text');
    expect(await prune(ahead, { runs: 0 })).toEqual(removed);
  });

  it.each([
    ['a removal', { at: 1 }],
    ['a removal and an open run', { at: 6 }],
  ])('removes immediately what ended 400 days ago if the home has recorded %s since', async (_what, { at: days }) => {
    configure('[keep]\nartifacts = "30d"\n');
    const { state } = await home.operations.getRun({ runId: RUN });
    const now = Date.parse(state.endedAt!) + 400 * DAY_MS;
    const at = new Date(now - days * DAY_MS).toISOString();
    writeFileSync(join(dir, 'retention.json'), JSON.stringify({ v: 1, at }));
    await daily(now);
    expect(existsSync(artifact())).toBe(false);
  });

  it('removes nothing while config.toml is invalid', async () => {
    configure('[keep]\nartifacts = "soon"\n');
    await expect(daily()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(existsSync(artifact())).toBe(true);
  });
});
