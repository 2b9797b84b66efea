import { describe, expect } from 'vitest';
import { verify } from '../../../src/features/evidence/api/verify-commit.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import { runOneOffSandbox } from '../../../src/sandbox/one-off-sandbox.ts';
import { SnapshotFiles } from '../../../src/store/snapshot-files.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { it as base } from '../../support/fixtures.ts';
import { OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

/** Installs what the lockfile says into an ignored folder; the nonce differs for each install. */
const INSTALL = 'mkdir -p deps && cp deps.lock deps/version && head -c 8 /dev/urandom | od -An -tx1 > deps/nonce';
/** The same without the nonce: it always makes the same files. */
const PURE = 'mkdir -p deps && cp deps.lock deps/version';
const CHANGE = 'date +%s%N > "$(date +%N).txt"';

function newProject(): TestRepository {
  const repository = newRepository();
  repository.write('.gitignore', 'deps/\n');
  repository.write('deps.lock', 'one\n');
  repository.commit('lockfile');
  return repository;
}

function settings(agent: string, { gate = 'cat deps/version', setup = INSTALL, more = [] as string[] } = {}): string[] {
  return scripted(`${agent} && ${OK}`, [gate], [`setup=${JSON.stringify([setup])}`, 'snapshot.inputs=["deps.lock"]', 'snapshot.recheck=0', 'tests.baseline="never"', ...more]); // prettier-ignore
}

const STORY = [{ id: 'A' }];

function installs(events: JournalEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'setup.ended' ? [`${event.story} ${event.phase}`] : []));
}

/** Why attempts were repeated that reached no verdict. */
function disturbances(events: JournalEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'story.disturbed' ? [event.summary] : []));
}

function uses(events: JournalEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === 'snapshot.used' ? [`${event.story} ${event.phase}${event.made ? ' made' : ''} ${event.mode}`] : [],
  );
}

type Mode = 'overlay' | 'copy';

/** A project and a run of it. */
interface Served {
  root: string;
  run: RunState;
}

/**
 * A run of stories each of which requires of its agent and its gate that they begin with what the lockfile says. The agent
 * of A damages what setup installed, that of B changes the lockfile, and each gate damages what it got.
 */
async function serve(halo: TestHalo, mode: Mode, ids: string[]): Promise<Served> {
  const { root } = newProject();
  const harm =
    'chmod -R u+w deps; echo harm > deps/version; ln -f deps/nonce deps/link; echo x >> deps/link; mv deps/nonce deps/gone';
  const agent = `cat > /tmp/prompt; cmp deps.lock deps/version || exit 1
case "$(head -n 1 /tmp/prompt)" in *'"A"'*) ${harm};; *'"B"'*) echo two > deps.lock;; esac; ${CHANGE}`;
  const gate =
    'cmp deps.lock deps/version && test -f deps/nonce && ! test -e deps/link && echo tampered > deps/version';
  const stories = ids.map((id) => ({ id }));
  const run = await halo.run(root, stories, settings(agent, { gate, more: [`snapshot.mode="${mode}"`] }));
  return { root, run };
}

/** Runs of one project, whose stories make the same change of the lockfile: */
async function changeInRuns(halo: TestHalo) {
  const { root } = newProject();
  const setup = `${INSTALL} && if test -f extra.sh; then sh extra.sh; fi`;
  const change = 'echo two > deps.lock; date +%N > x.txt';
  const next = (agent: string, gate?: string) => halo.run(root, STORY, settings(agent, { setup, gate }));
  return {
    // One of which no snapshot can be made, because setup changes a file with it,
    spoiled: await next('echo two > deps.lock; echo "echo x >> README.md" > extra.sh'),
    // one that does not land, and two that do.
    failed: await next(change, 'false'),
    landed: await next(change),
    last: await next(change),
  };
}

/** Two runs that start at the same time, with a setup that always makes the same. */
async function startTogether(halo: TestHalo) {
  const { root } = newProject();
  const setup = PURE;
  const request = settings(CHANGE, { setup, gate: 'grep -qx one deps/version' });
  return { root, setup, runs: await Promise.all([1, 2].map(() => halo.run(root, STORY, request))) };
}

/** A run whose snapshots have all files by name as their inputs. */
async function dependOnAll(halo: TestHalo): Promise<Served> {
  const { root } = newProject();
  const request = settings(CHANGE, { setup: PURE, more: ['snapshot.inputs=["**"]'] });
  return { root, run: await halo.run(root, STORY, request) };
}

const it = base
  .extend('served', { scope: 'file' }, ({ halo }) => {
    const known = new Map<Mode, Promise<Served>>();
    const stories = { overlay: ['A', 'B', 'C'], copy: ['A', 'C'] };
    return (mode: Mode) => {
      const served = known.get(mode) ?? serve(halo, mode, stories[mode]);
      known.set(mode, served);
      return served;
    };
  })
  .extend('changed', { scope: 'file' }, ({ halo }) => changeInRuns(halo))
  .extend('together', { scope: 'file' }, ({ halo }) => startTogether(halo))
  .extend('ofAllFiles', { scope: 'file' }, ({ halo }) => dependOnAll(halo));

// A run whose workspaces are copies is in overlay-probe.flow.test.ts.
describe.for(casesAtLevel<Mode>(['overlay'], ['copy']))('with %s, a snapshot of what setup installed', (mode) => {
  it('serves the agent and the gates of all stories: setup runs once', async ({ served, journal }) => {
    const { run } = await served(mode);
    expect(run.stopReason).toBe('SUCCESS');
    const events = journal(run.runId);
    expect(disturbances(events)).toEqual([]);
    // The gates of B have another lockfile.
    expect(installs(events).filter((each) => each !== 'B gates')).toEqual(['A setup']);
    const second = run.stories[1]!.id;
    expect(uses(events).slice(0, 3)).toEqual([`A setup made ${mode}`, `A gates ${mode}`, `${second} setup ${mode}`]);
    expect(uses(events).slice(-2)).toEqual([`C setup ${mode}`, `C gates ${mode}`]);
  });

  it('is not changed by an agent, whose gates begin with the original', async ({ served }) => {
    const { run } = await served(mode);
    expect(run.stories.map(({ id, progress }) => [id, progress])).toContainEqual(['A', 'passed']);
    expect(run.stories.every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it('has folders that no user can enter, for which the agent is not blamed', async ({ halo, journal }) => {
    const setup = `${INSTALL} && mkdir deps/closed && chmod 600 deps/closed`;
    const more = [`snapshot.mode="${mode}"`];
    const run = await halo.run(newProject().root, STORY, settings('echo 1 > own; chmod 000 own', { setup, more }));
    expect(uses(journal(run.runId))).toEqual([`A setup made ${mode}`]);
    expect(run.stories[0]!.summary).toMatch(/^own cannot be read/);
  });
});

describe('a snapshot', () => {
  it('is made once in the gates of a story that changes an input, and serves the next story', async ({
    served,
    journal,
  }) => {
    const { run } = await served('overlay');
    expect(run.stopReason).toBe('SUCCESS');
    expect(installs(journal(run.runId))).toEqual(['A setup', 'B gates']);
    expect(uses(journal(run.runId)).slice(3)).toEqual(['B gates made overlay', 'C setup overlay', 'C gates overlay']);
  });

  it('serves the next run of the same repository', ({ changed, journal }) => {
    expect(installs(journal(changed.last.runId))).toEqual([]);
    expect(uses(journal(changed.last.runId))).toEqual(['A setup overlay', 'A gates overlay']);
  });

  it('a snapshot of a tree that a story made serves only its run until the story has passed', ({
    changed,
    journal,
  }) => {
    const { failed, landed, last } = changed;
    expect(failed.stopReason).toBe('GATE_FAILED');
    expect(installs(journal(failed.runId))).toEqual(['A gates']);
    expect(landed.stopReason).toBe('SUCCESS');
    expect(installs(journal(landed.runId))).toEqual(['A gates']);
    expect(installs(journal(last.runId))).toEqual([]);
  });

  it('is refused for its own run alone if the tree of a story makes it impossible', ({ changed, journal }) => {
    const spoiled = journal(changed.spoiled.runId);
    expect(spoiled.map(({ type }) => type)).toContain('snapshot.refused');
    // The attempt to make one, and the gates without it.
    expect(installs(spoiled).filter((each) => each === 'A gates')).toHaveLength(2);
    expect(uses(journal(changed.failed.runId))).toEqual(['A setup overlay', 'A gates made overlay']);
  });

  it(
    'is not made of setup that changes files of the repository; setup then runs for each workspace',
    skipFor(belowFull()),
    async ({ halo, journal }) => {
      const setup = `${INSTALL} && echo more >> README.md`;
      const run = await halo.run(newProject().root, [{ id: 'A' }, { id: 'B' }], settings(CHANGE, { setup }));
      expect(run.stopReason).toBe('SUCCESS');
      const events = journal(run.runId);
      const refused = events.flatMap((event) => (event.type === 'snapshot.refused' ? [event.reason] : []));
      expect(refused).toEqual(['setup changes files that git does not ignore: README.md']);
      // The attempt to make one, then agent and gates of each story.
      expect(installs(events)).toEqual(['A setup', 'A setup', 'A gates', 'B setup', 'B gates']);
      expect(uses(events)).toEqual([]);
    },
  );

  it('is made once by runs that start at the same time', ({ together, journal }) => {
    expect(together.runs.map(({ stopReason }) => stopReason)).toEqual(['SUCCESS', 'SUCCESS']);
    expect(together.runs.flatMap(({ runId }) => installs(journal(runId)))).toEqual(['A setup']);
  });

  it('is made again if its volume is gone', async ({ halo, served, journal }) => {
    const { root, run } = await served('overlay');
    const engine = openDockerEngine();
    for (const { record } of await new SnapshotFiles(halo.home).list())
      if (record.run === run.runId && 'volume' in record) await engine.removeVolume(record.volume);
    const next = await halo.run(root, STORY, settings(CHANGE));
    expect(next.stopReason).toBe('SUCCESS');
    expect(installs(journal(next.runId))).toEqual(['A setup']);
  });

  it('hazard 52: is checked when a gate fails on it: files that are gone cost no attempt, and setup runs again', async ({
    halo,
    journal,
  }) => {
    const { root } = newProject();
    const request = settings(CHANGE, {
      setup: PURE,
      gate: 'cat deps/version',
      more: ['tests.baseline="always"', 'retry.infrastructure.backoff="100ms"'],
    });
    const first = await halo.run(root, STORY, request);
    const stored = (await new SnapshotFiles(halo.home).list()).map(({ record }) => record);
    const made = stored.find(({ run }) => run === first.runId);
    const source = made !== undefined && 'volume' in made ? made.volume : '';
    const mounts = [{ kind: 'volume' as const, source, target: '/workspace', readOnly: false, copyUp: false }];
    await runOneOffSandbox(openDockerEngine(), { purpose: 'change', mounts, script: 'rm /workspace/deps/version' });
    const next = await halo.run(root, [{ id: 'B' }], request);
    expect(next.stopReason).toBe('SUCCESS');
    expect(next.stories[0]).toMatchObject({ attempts: 1, progress: 'passed' });
    const events = journal(next.runId);
    expect(disturbances(events)).toEqual([expect.stringMatching(/^The snapshot [0-9a-f]{12} .* is damaged/)]);
    expect(installs(events)).toEqual(['B setup']);
  });

  it('a gate that fails on a snapshot as it was made uses up an attempt', async ({ halo, together, journal }) => {
    const { root, setup } = together;
    const next = await halo.run(root, [{ id: 'B' }], settings(CHANGE, { setup, gate: 'false' }));
    expect(next.stopReason).toBe('GATE_FAILED');
    expect(uses(journal(next.runId))).toEqual(['B setup overlay', 'B gates overlay']);
    expect(disturbances(journal(next.runId))).toEqual([]);
  });

  it('is named in the proof of the commit', async ({ halo, served, journal }) => {
    const { run } = await served('overlay');
    const used = journal(run.runId).find(({ type }) => type === 'snapshot.used') as { key: string; digest: string };
    const { key } = run.stories[0]!;
    const proof = JSON.parse(halo.readFile(run.runId, `artifacts/${key}/1/proof.json`)) as { snapshot: unknown };
    expect(proof.snapshot).toEqual({ key: used.key, digest: used.digest });
  });

  it('is not used by halo verify, which installs', async ({ halo, together }) => {
    const { root, runs } = together;
    const stored = (await new SnapshotFiles(halo.home).list()).map(({ record }) => record);
    const made = stored.find((record) => runs.some(({ runId }) => runId === record.run));
    const source = made !== undefined && 'volume' in made ? made.volume : '';
    const mounts = [{ kind: 'volume' as const, source, target: '/workspace', readOnly: false, copyUp: false }];
    const change = async (version: string) => {
      const script = `cd /workspace/deps && echo ${version} > version && cat version`;
      const { text } = await runOneOffSandbox(openDockerEngine(), { purpose: 'change', mounts, script });
      expect(text).toBe(`${version}\n`);
    };
    await change('two');
    const query = { target: runs[0]!.runId, folder: root, trustProof: true, signal: new AbortController().signal };
    const checks = [];
    for await (const verified of verify(halo.host, query)) checks.push(...verified.checks);
    await change('one');
    expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
    expect(checks.map(({ what }) => what.split(' ')[0])).toEqual(expect.arrayContaining(['setup', 'gate']));
  });

  it(
    'a snapshot of npm serves all stories, whatever manifests of examples say that the lockfile does not list',
    skipFor(belowFull()),
    async ({ halo, journal }) => {
      const repository = newRepository();
      repository.write('.gitignore', 'node_modules/\n');
      repository.write('package.json', '{"name":"shop","version":"1.0.0"}');
      repository.write('package-lock.json', '{"name":"shop","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"shop","version":"1.0.0"}}}'); // prettier-ignore
      repository.write('examples/package.json', '{"name":"examples","dependencies":{"shop":"file:.."}}');
      repository.commit('manifests');
      const more = ['setup=["npm ci"]', 'snapshot.recheck=0', 'tests.baseline="never"'];
      const run = await halo.run(repository.root, STORY, scripted(`${CHANGE} && ${OK}`, ['true'], more));
      // The gates have the tree of the story, as the next story would.
      expect(installs(journal(run.runId))).toEqual(['A setup']);
      expect(uses(journal(run.runId))).toEqual(['A setup made overlay', 'A gates overlay']);
    },
  );

  it(
    'a snapshot with inputs that are not set depends on the whole tree, unless setup is a known installer',
    skipFor(belowFull()),
    ({ ofAllFiles, journal }) => {
      expect(installs(journal(ofAllFiles.run.runId))).toEqual(['A setup', 'A gates']);
    },
  );
});

describe('a repeated check of a snapshot', () => {
  const recheck = ['snapshot.recheck=1'];

  it('keeps one that setup makes again', skipFor(belowFull()), async ({ halo, together, journal }) => {
    const { root, setup } = together;
    const run = await halo.run(root, STORY, settings(CHANGE, { setup, more: recheck }));
    expect(run.stopReason).toBe('SUCCESS');
    expect(uses(journal(run.runId))).toEqual(['A setup overlay', 'A gates overlay']);
    expect(installs(journal(run.runId))).toEqual(['A setup', 'A gates']);
  });

  it('drops one that setup makes differently, and opens a breaker', async ({ halo, served, journal }) => {
    const { root } = await served('overlay');
    const run = await halo.run(root, STORY, settings(CHANGE, { more: recheck }));
    expect(run.stopReason).toBe('SUCCESS');
    const refused = journal(run.runId).flatMap((event) => (event.type === 'snapshot.refused' ? [event.reason] : []));
    expect(refused).toEqual([expect.stringMatching(/^setup no longer makes what it made at /)]);
    const [breaker] = (await halo.operations.listBreakers()).breakers;
    expect(breaker).toMatchObject({ key: expect.stringMatching(/^snapshot:/) as string, status: 'open' });
    await halo.operations.resetBreaker({ key: breaker!.key });
  });
});
