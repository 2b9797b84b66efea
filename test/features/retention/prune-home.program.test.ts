import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RetentionLimits } from '../../../src/features/retention/core/retention.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { acquireLock } from '../../../src/lib/lock.ts';
import { openStore } from '../../../src/store/store.ts';
import { planPrune, pruneHome } from '../../../src/features/retention/worker/prune-home.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created, failed, succeeded } from '../../support/journal.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const OTHER = '0tbq2bbbbbbbbbbb';
const ALL: RetentionLimits = { artifactsMs: 0, journalsMs: 0 };
const ARTIFACTS: RetentionLimits = { artifactsMs: 0 };

let home: ScriptedHome;
beforeEach(() => {
  home = openScriptedHome();
});
afterEach(() => home.remove());

const dirOf = (runId: string) => join(home.host.home, 'runs', runId);
const context = () => ({
  home: home.host.home,
  store: openStore(home.host.home, { transcribe }),
  now: () => new Date('2031-01-01T00:00:00Z'),
});
const prune = (limits: RetentionLimits) => pruneHome(context(), limits, { by: 'tess' });
const failedRun = (runId: string) => [
  created(runId, 1),
  { type: 'run.started' } as const,
  ...failed('US-001'),
  { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed' } as const,
];

describe('artifacts of an ended run', () => {
  beforeEach(async () => {
    await home.addRun(failedRun(RUN));
    home.writeArtifact(RUN, 'us-001/1/gates/1.log', 'x'.repeat(5000));
    home.writeArtifact(RUN, 'us-001/1/proof.json', '{}');
    await home.writeRaw(RUN, 'us-001', 'raw output\n');
  });

  it('are removed, and the journal, the reports and the proof of the commit stay', async () => {
    const { removals } = await prune(ARTIFACTS);
    expect(removals).toMatchObject([{ runId: RUN, what: 'artifacts' }]);
    expect(removals[0]!.bytes).toBeGreaterThan(5000);
    const left = (readdirSync(dirOf(RUN), { recursive: true }) as string[]).filter((path) =>
      lstatSync(join(dirOf(RUN), path)).isFile(),
    );
    expect(left.toSorted()).toEqual([
      'artifacts/us-001/1/proof.json',
      'checkpoints/state.json',
      'history.md',
      'journal.jsonl',
      'progress.md',
      'run.json',
    ]);
    expect(await prune(ARTIFACTS)).toMatchObject({ removals: [] });
  });

  it('leave a sentence in the state, the log and the error of those who look for them', async () => {
    await prune(ARTIFACTS);
    const { state } = await home.operations.getRun({ runId: RUN });
    expect(state.pruned).toMatchObject({ by: 'tess' });
    const error = /^Retention removed the artifacts of run 0tbq1aaaaaaaaaaa on \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/;
    await expect(
      home.operations.readArtifact({ runId: RUN, path: 'us-001/1/gates/1.log', whole: false }),
    ).rejects.toThrow(error);
    await expect(home.operations.readDiff({ runId: RUN, story: 'US-001' })).rejects.toThrow(error);
    const events = [];
    for await (const { event } of await home.operations.followEvents({ runId: RUN, after: 0, follow: false }))
      events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'run.pruned', by: 'tess' });
  });

  it('stay when a user retries the run before they are removed', async () => {
    await home.append(RUN, { type: 'run.retried', by: 'tess', stories: ['US-001'] });
    expect(await prune(ARTIFACTS)).toMatchObject({ removals: [] });
    expect(existsSync(join(dirOf(RUN), 'artifacts/us-001/1/gates/1.log'))).toBe(true);
  });

  it('are only reported by a plan', async () => {
    const { removals, runBytes, artifactBytes } = await planPrune(context(), ALL);
    expect(removals).toMatchObject([{ runId: RUN, what: 'run' }]);
    expect(runBytes).toBeGreaterThan(artifactBytes);
    expect(existsSync(join(dirOf(RUN), 'artifacts/us-001/1/gates/1.log'))).toBe(true);
  });
});

describe('a whole run', () => {
  it('is removed with its refs, and its branch in the repository of the user stays', async () => {
    const repository = await home.addLandedRun(RUN);
    const tip = repository.git('rev-parse', `halo/${RUN}`);
    await home.append(RUN, { type: 'run.landed', branch: 'main', from: tip, to: tip });
    const { mirror } = (await home.operations.getRun({ runId: RUN })).state.repo;
    const mirrorDir = join(home.host.home, 'repos', mirror, 'mirror.git');
    repository.git('--git-dir', mirrorDir, 'update-ref', `refs/heads/halo/${RUN}`, tip);
    const { removals } = await prune(ALL);
    expect(removals).toMatchObject([{ runId: RUN, what: 'run' }]);
    expect(readdirSync(join(home.host.home, 'runs'))).toEqual([]);
    expect(repository.git('rev-parse', `halo/${RUN}`)).toBe(tip);
    expect(repository.git('--git-dir', mirrorDir, 'for-each-ref', 'refs/heads/')).toBe('');
    await expect(home.operations.getRun({ runId: RUN })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('is not listed any more', async () => {
    await home.addRun(failedRun(RUN));
    await prune(ALL);
    expect((await home.operations.listRuns()).runs).toEqual([]);
  });
});

describe('retention leaves', () => {
  const why = async () => (await planPrune(context(), ALL)).kept;

  it('a run whose commits are only on its branch, until a branch of the user has them', async () => {
    const repository = await home.addLandedRun(RUN);
    const commit = repository.git('rev-parse', `halo/${RUN}`);
    const events = await home.operations.getRun({ runId: RUN });
    expect(events.state.stories[0]!.commit).toBe(commit);
    expect(await why()).toEqual([{ runId: RUN, why: 'its commits have not landed on your branch' }]);
    expect(await prune(ALL)).toMatchObject({ removals: [] });
    repository.git('merge', '-q', '--ff-only', `halo/${RUN}`);
    expect(await prune(ALL)).toMatchObject({ removals: [{ runId: RUN }] });
  });

  it('a run whose repository is gone', async () => {
    const repository = await home.addLandedRun(RUN);
    repository.remove();
    expect(await why()).toMatchObject([{ why: expect.stringContaining('cannot be read') as string }]);
  });

  it('a run that was rejected only if something else holds it', async () => {
    const repository = await home.addLandedRun(RUN);
    const tip = repository.git('rev-parse', `halo/${RUN}`);
    await home.append(RUN, { type: 'run.rejected', by: 'tess', tip, reason: 'no' });
    expect(await why()).toEqual([]);
  });

  it('a story that waits for approval', async () => {
    await home.addHeldRun(RUN);
    expect(await why()).toEqual([{ runId: RUN, why: 'a story waits for approval' }]);
  });

  it('a run that an open run continues or waits for', async () => {
    await home.addRun(failedRun(RUN));
    await home.addRun([{ ...created(OTHER, 1), after: [RUN] }, { type: 'run.started' }]);
    expect(await why()).toEqual([{ runId: RUN, why: `run ${OTHER} needs it` }]);
  });

  it('a run with a damaged journal', async () => {
    await home.addRun(failedRun(RUN));
    writeFileSync(join(dirOf(RUN), 'journal.jsonl'), 'no journal\n');
    const { removals, unreadable } = await planPrune(context(), ALL);
    expect([removals, unreadable.map(({ runId }) => runId)]).toEqual([[], [RUN]]);
  });
});

describe('a mirror', () => {
  function age(name: string): void {
    const dir = join(home.host.home, 'repos', name);
    const old = new Date('2030-01-01T00:00:00Z');
    for (const path of ['mirror.git/refs/halo/base', 'mirror.git', 'views', 'attempts', '.'])
      if (existsSync(join(dir, path))) utimesSync(join(dir, path), old, old);
  }

  it('goes when no run uses it and no process used it for a day', async () => {
    const repository = await home.addLandedRun(RUN);
    const { mirror } = (await home.operations.getRun({ runId: RUN })).state.repo;
    const named = 'shop-0123abcd';
    repository.git('clone', '-q', '--bare', repository.root, join(home.host.home, 'repos', named, 'mirror.git'));
    expect((await planPrune({ ...context(), now: () => new Date() }, {})).mirrors).toEqual([]);
    age(named);
    expect((await planPrune(context(), {})).mirrors).toMatchObject([{ name: named }]);
    expect((await prune({})).mirrors).toMatchObject([{ name: named }]);
    expect(readdirSync(join(home.host.home, 'repos'))).toEqual([mirror]);
  });

  it('stays for a day when a submit has only begun to create it', async () => {
    const begun = 'shop-0123abcd';
    mkdirSync(join(home.host.home, 'repos', begun), { recursive: true });
    expect((await planPrune({ ...context(), now: () => new Date() }, {})).mirrors).toEqual([]);
    age(begun);
    expect((await planPrune(context(), {})).mirrors).toMatchObject([{ name: begun }]);
  });
});

describe('a run that changes after the plan was made', () => {
  /** Prunes; `change` happens as soon as the plan has read the state of the run. */
  async function pruneAfter(limits: RetentionLimits, change: () => Promise<void>) {
    const { store, ...rest } = context();
    let isPlanned = false;
    const readState = async (runId: string) => {
      const state = await store.readState(runId);
      if (!isPlanned) await change();
      isPlanned = true;
      return state;
    };
    return pruneHome({ ...rest, store: { ...store, readState } }, limits, { by: 'tess' });
  }
  beforeEach(async () => {
    await home.addRun(failedRun(RUN));
    home.writeArtifact(RUN, 'us-001/1/gates/1.log', 'x');
  });

  it.each([ARTIFACTS, ALL])('keeps all files if it was retried and has ended again: %j', async (limits) => {
    const { removals } = await pruneAfter(limits, async () => {
      await home.append(RUN, { type: 'run.retried', by: 'tess', stories: ['US-001'] });
      await home.append(RUN, { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' });
    });
    expect(removals).toEqual([]);
    expect(existsSync(join(dirOf(RUN), 'artifacts/us-001/1/gates/1.log'))).toBe(true);
  });

  it('stays if a new run waits for it', async () => {
    const { removals } = await pruneAfter(ALL, async () => {
      await home.addRun([{ ...created(OTHER, 1), after: [RUN] }, { type: 'run.started' }]);
    });
    expect(removals).toEqual([]);
    expect(existsSync(dirOf(RUN))).toBe(true);
  });
});

describe('removal', () => {
  it('continues if a file of an earlier removal cannot be removed, and reports it', async () => {
    await home.addRun(failedRun(RUN));
    const left = join(home.host.home, 'runs', `.removed-${OTHER}-0123abcd`);
    mkdirSync(left);
    writeFileSync(join(left, 'file'), '');
    execFileSync('chattr', ['+i', join(left, 'file')]);
    try {
      const { removals, failed } = await prune(ALL);
      expect(removals).toMatchObject([{ runId: RUN }]);
      expect(failed).toMatchObject([{ runId: OTHER, error: { code: 'DISK_FAILED' } }]);
    } finally {
      execFileSync('chattr', ['-i', join(left, 'file')]);
    }
  });

  it('is done by one process at a time', async () => {
    await home.addRun(succeeded(RUN));
    mkdirSync(join(home.host.home, 'locks'), { recursive: true });
    const lock = await acquireLock(join(home.host.home, 'locks', 'retention'));
    try {
      await expect(prune(ALL)).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    } finally {
      await lock.release();
    }
  });

  it('writes the size of what it removes into the journal', async () => {
    await home.addRun(failedRun(RUN));
    home.writeArtifact(RUN, 'us-001/1/prompt.md', 'x'.repeat(1000));
    await prune(ARTIFACTS);
    expect(readFileSync(join(dirOf(RUN), 'journal.jsonl'), 'utf8')).toMatch(/"type":"run.pruned".*"bytes":\d{4,}/);
  });
});
