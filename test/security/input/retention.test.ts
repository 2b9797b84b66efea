import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { openStore } from '../../../src/store/store.ts';
import { pruneHome } from '../../../src/features/retention/worker/prune-home.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created, failed } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const OTHER = '0tbq2bbbbbbbbbbb';

let home: ScriptedHome;
let outside: string;
let precious: string;
beforeEach(async () => {
  home = openScriptedHome();
  outside = tempDir('halo-outside');
  precious = join(outside, 'precious.txt');
  writeFileSync(precious, 'precious\n');
  await addRun(RUN);
});
afterEach(() => home.remove());

const dirOf = (runId: string) => join(home.host.home, 'runs', runId);
const addRun = (runId: string, mirror = 'shop-1') => {
  const first = created(runId, 1);
  return home.addRun([
    { ...first, repo: { ...first.repo, mirror } },
    { type: 'run.started' },
    ...failed('US-001'),
    { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed' },
  ]);
};
const LIMITS = { artifacts: { artifactsMs: 0 }, 'whole runs': { journalsMs: 0 } };
const prune = (limits: object) =>
  pruneHome(
    { home: home.host.home, store: openStore(home.host.home, { transcribe }), now: () => new Date('2031-01-01') },
    limits,
    { by: 'tess' },
  );
const isUntouched = () => readFileSync(precious, 'utf8') === 'precious\n';

describe.for(Object.entries(LIMITS))('incident retention-links: of %s', ([, limits]) => {
  it('links below a run directory are removed, not followed', async () => {
    const folder = join(dirOf(RUN), 'artifacts/us-001/1');
    mkdirSync(folder, { recursive: true });
    symlinkSync(outside, join(folder, 'folder'));
    symlinkSync(precious, join(folder, 'file'));
    symlinkSync(precious, join(folder, 'proof.json'));
    linkSync(precious, join(folder, 'hard'));
    const { removals, failed: failures } = await prune(limits);
    expect([removals.length, failures]).toEqual([1, []]);
    expect(isUntouched()).toBe(true);
    expect(existsSync(folder)).toBe(false);
  });

  it.for(['artifacts', 'debug_bundle', 'events.jsonl', 'agent.log'])(
    'a link in the place of %s is removed, not followed',
    async (name) => {
      const path = join(dirOf(RUN), name);
      renameSync(path, `${path}.old`);
      symlinkSync(name.includes('.') ? precious : outside, path);
      writeFileSync(join(dirOf(RUN), 'artifacts', 'a.log'), 'x'.repeat(100));
      if (name === 'artifacts') symlinkSync(outside, join(dirOf(RUN), 'debug_bundle', 'out'));
      await prune(limits);
      expect(isUntouched()).toBe(true);
    },
  );

  it('a run directory that is a link is refused, and the others are removed', async () => {
    await addRun(OTHER);
    home.writeArtifact(OTHER, 'us-001/1/a.log', 'text');
    home.writeArtifact(RUN, 'us-001/1/a.log', 'text');
    renameSync(dirOf(RUN), join(outside, 'run'));
    symlinkSync(join(outside, 'run'), dirOf(RUN));
    const { removals, plan } = await prune(limits);
    expect(removals.map(({ runId }) => runId)).toEqual([OTHER]);
    expect(plan.unreadable).toMatchObject([{ runId: RUN, error: { code: 'RUN_UNREADABLE' } }]);
    expect(existsSync(join(outside, 'run/artifacts/us-001/1/a.log'))).toBe(true);
  });
});

describe('incident retention-paths: a journal that names other paths', () => {
  it.for(['../../../outside', '..', '/etc', 'a/b', ''])(
    'a journal names a foreign path as its mirror: %s',
    async (mirror) => {
      await addRun(OTHER, mirror);
      const { removals } = await prune({ journalsMs: 0 });
      expect(removals.map(({ runId }) => runId).toSorted()).toEqual([RUN, OTHER]);
      expect(isUntouched()).toBe(true);
    },
  );

  it('a journal names a foreign path as its run id', async () => {
    const journal = join(dirOf(RUN), 'journal.jsonl');
    writeFileSync(journal, readFileSync(journal, 'utf8').replaceAll(RUN, `../../../${'x'.repeat(8)}`));
    await prune({ journalsMs: 0 });
    expect(isUntouched()).toBe(true);
    expect(existsSync(dirOf(RUN))).toBe(false);
  });

  it('a journal is in a folder with the name of a path', async () => {
    mkdirSync(join(home.host.home, 'runs', '..halo'), { recursive: true });
    const { removals } = await prune({ journalsMs: 0 });
    expect(removals.map(({ runId }) => runId)).toEqual([RUN]);
    expect(existsSync(join(home.host.home, 'runs', '..halo'))).toBe(true);
  });
});
