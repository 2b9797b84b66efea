import { describe, expect } from 'vitest';
import { verify } from '../../../src/api/runs/verify-commit.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { readHomeId } from '../../../src/queue/redis/home-id.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import { runOneOffSandbox } from '../../../src/sandbox/one-off-sandbox.ts';
import { SnapshotFiles } from '../../../src/store/snapshot-files.ts';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
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
  return scripted(`${agent} && ${OK}`, [gate, 'ls deps'], [`setup=${JSON.stringify([setup])}`, 'snapshot.inputs=["deps.lock"]', 'snapshot.recheck=0', ...more]); // prettier-ignore
}

const STORIES = [{ id: 'A' }, { id: 'B' }];

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

describe.for(['overlay', 'copy'])('with %s, a snapshot of what setup installed', (mode) => {
  const more = [`snapshot.mode="${mode}"`];

  it('serves the agent and the gates of all stories: setup runs once', async ({ halo, journal }) => {
    const agent = `test "$(cat deps/version)" = one && ${CHANGE}`;
    const run = await halo.run(newProject().root, STORIES, settings(agent, { more }));
    expect(run.stopReason).toBe('SUCCESS');
    const events = journal(run.runId);
    expect(disturbances(events)).toEqual([]);
    expect(installs(events)).toEqual(['A setup']);
    expect(uses(events)).toEqual([`A setup made ${mode}`, `A gates ${mode}`, `B setup ${mode}`, `B gates ${mode}`]);
  });

  it('serves the next run of the same repository', async ({ halo, journal }) => {
    const { root } = newProject();
    const stories = [{ id: 'A' }];
    await halo.run(root, stories, settings(CHANGE, { more }));
    const second = await halo.run(root, stories, settings(CHANGE, { more }));
    expect(installs(journal(second.runId))).toEqual([]);
  });

  it('is not changed by an agent, whose gates begin with the original', async ({ halo, journal }) => {
    const harm =
      'chmod -R u+w deps; echo harm > deps/version; ln -f deps/nonce deps/link; echo x >> deps/link; mv deps/nonce deps/gone';
    const gate =
      'test "$(cat deps/version)" = one && test -f deps/nonce && ! test -e deps/link && echo tampered > deps/version';
    const run = await halo.run(newProject().root, STORIES, settings(`test "$(cat deps/version)" = one && ${harm}; ${CHANGE}`, { gate, more })); // prettier-ignore
    expect(run.stopReason).toBe('SUCCESS');
    expect(installs(journal(run.runId))).toEqual(['A setup']);
  });

  it('is made once in the gates of a story that changes an input, and serves the next story', async ({
    halo,
    journal,
  }) => {
    const agent = `echo two > deps.lock; ${CHANGE}`;
    const run = await halo.run(newProject().root, STORIES, settings(agent, { gate: 'cmp deps.lock deps/version', more })); // prettier-ignore
    expect(run.stopReason).toBe('SUCCESS');
    expect(installs(journal(run.runId))).toEqual(['A setup', 'A gates']);
    expect(uses(journal(run.runId)).slice(2)).toEqual([`B setup ${mode}`, `B gates ${mode}`]);
  });
});

describe('a snapshot', () => {
  it('a snapshot of a tree that a story made serves only its run until the story has landed', async ({
    halo,
    journal,
  }) => {
    const { root } = newProject();
    const stories = [{ id: 'A' }];
    const agent = 'echo two > deps.lock; date > x.txt';
    const failed = await halo.run(root, stories, settings(agent, { gate: 'false' }));
    expect(failed.stopReason).toBe('GATE_FAILED');
    expect(installs(journal(failed.runId))).toEqual(['A setup', 'A gates']);
    const next = await halo.run(root, stories, settings(agent));
    expect(installs(journal(next.runId))).toEqual(['A gates']);
    const third = await halo.run(root, stories, settings(agent));
    expect(installs(journal(third.runId))).toEqual([]);
  });

  it('is not made of setup that changes files of the repository; setup then runs for each workspace', async ({
    halo,
    journal,
  }) => {
    const setup = `${INSTALL} && echo more >> README.md`;
    const run = await halo.run(newProject().root, STORIES, settings(CHANGE, { setup }));
    expect(run.stopReason).toBe('SUCCESS');
    const events = journal(run.runId);
    const refused = events.flatMap((event) => (event.type === 'snapshot.refused' ? [event.reason] : []));
    expect(refused).toEqual(['setup changes files that git does not ignore: README.md']);
    // The attempt to make one, then agent and gates of each story.
    expect(installs(events)).toEqual(['A setup', 'A setup', 'A gates', 'B setup', 'B gates']);
    expect(uses(events)).toEqual([]);
  });

  it('is refused for its own run alone if the tree of a story makes it impossible', async ({ halo, journal }) => {
    const { root } = newProject();
    const stories = [{ id: 'A' }];
    const setup = `${INSTALL} && if test -f extra.sh; then sh extra.sh; fi`;
    const spoil = 'echo two > deps.lock; echo "echo x >> README.md" > extra.sh';
    const spoiled = await halo.run(root, stories, settings(spoil, { setup }));
    expect(journal(spoiled.runId).map(({ type }) => type)).toContain('snapshot.refused');
    const next = await halo.run(root, stories, settings('echo two > deps.lock', { setup }));
    expect(uses(journal(next.runId))).toContainEqual(expect.stringMatching(/^A gates made /));
  });

  it('is made once by runs that start at the same time', async ({ halo, journal }) => {
    const { root } = newProject();
    const request = settings(CHANGE, { setup: `sleep 1; ${INSTALL}` });
    const runs = await Promise.all([1, 2].map(() => halo.run(root, [{ id: 'A' }], request)));
    expect(runs.map(({ stopReason }) => stopReason)).toEqual(['SUCCESS', 'SUCCESS']);
    expect(runs.flatMap(({ runId }) => installs(journal(runId)))).toEqual(['A setup']);
  });

  it('is made again if its volume is gone', async ({ halo, journal }) => {
    const { root } = newProject();
    await halo.run(root, [{ id: 'A' }], settings(CHANGE));
    const engine = openDockerEngine();
    const home = await readHomeId(halo.home);
    for (const volume of await engine.listSnapshotVolumes(home)) await engine.removeVolume(volume).catch(() => {});
    const run = await halo.run(root, [{ id: 'A' }], settings(CHANGE));
    expect(run.stopReason).toBe('SUCCESS');
    expect(installs(journal(run.runId))).toEqual(['A setup']);
  });

  it('is named in the proof of the commit', async ({ halo, journal }) => {
    const run = await halo.run(newProject().root, [{ id: 'A' }], settings(CHANGE));
    const used = journal(run.runId).find(({ type }) => type === 'snapshot.used') as { key: string; digest: string };
    const { key } = run.stories[0]!;
    const proof = JSON.parse(halo.readFile(run.runId, `artifacts/${key}/1/proof.json`)) as { snapshot: unknown };
    expect(proof.snapshot).toEqual({ key: used.key, digest: used.digest });
  });

  it('is not used by halo verify, which installs', async ({ halo }) => {
    const { root } = newProject();
    const gate = 'grep -qx one deps/version';
    const run = await halo.run(root, [{ id: 'A' }], settings(CHANGE, { setup: PURE, gate }));
    const made = (await new SnapshotFiles(halo.home).list()).find(({ record }) => record.run === run.runId)?.record;
    const source = made !== undefined && 'volume' in made ? made.volume : '';
    const mounts = [{ kind: 'volume' as const, source, target: '/workspace', readOnly: false, copyUp: false }];
    const script = 'cd /workspace/deps && echo two > version && cat version';
    const { text } = await runOneOffSandbox(openDockerEngine(), { purpose: 'change', mounts, script });
    expect(text).toBe('two\n');
    const query = { target: run.runId, folder: root, trustRecord: true, signal: new AbortController().signal };
    const checks = [];
    for await (const verified of verify(halo.host, query)) checks.push(...verified.checks);
    expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
    expect(checks.map(({ what }) => what.split(' ')[0])).toEqual(expect.arrayContaining(['setup', 'gate']));
  });

  it('a snapshot of npm serves all stories, whatever manifests of examples say that the lockfile does not list', async ({
    halo,
    journal,
  }) => {
    const repository = newRepository();
    repository.write('.gitignore', 'node_modules/\n');
    repository.write('package.json', '{"name":"shop","version":"1.0.0"}');
    repository.write('package-lock.json', '{"name":"shop","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"shop","version":"1.0.0"}}}'); // prettier-ignore
    repository.write('examples/package.json', '{"name":"examples","dependencies":{"shop":"file:.."}}');
    repository.commit('manifests');
    const npm = scripted(`${CHANGE} && ${OK}`, ['true'], ['setup=["npm ci"]', 'snapshot.recheck=0']);
    const run = await halo.run(repository.root, STORIES, npm);
    expect(installs(journal(run.runId))).toEqual(['A setup']);
  });

  it('a snapshot with inputs that are not set depends on the whole tree, unless setup is a known installer', async ({
    halo,
    journal,
  }) => {
    const run = await halo.run(newProject().root, STORIES, settings(CHANGE, { more: ['snapshot.inputs=["**"]'] }));
    expect(installs(journal(run.runId))).toEqual(['A setup', 'A gates', 'B gates']);
  });
});

describe('a repeated check of a snapshot', () => {
  const recheck = ['snapshot.recheck=1'];

  it('keeps one that setup makes again', async ({ halo, journal }) => {
    const { root } = newProject();
    await halo.run(root, [{ id: 'A' }], settings(CHANGE, { setup: PURE }));
    const run = await halo.run(root, [{ id: 'A' }], settings(CHANGE, { setup: PURE, more: recheck }));
    expect(run.stopReason).toBe('SUCCESS');
    expect(uses(journal(run.runId))).toEqual(['A setup overlay', 'A gates overlay']);
    expect(installs(journal(run.runId))).toEqual(['A setup', 'A gates']);
  });

  it('keeps one of the whole tree that setup makes again in less than the time worth a snapshot', async ({
    halo,
    journal,
  }) => {
    const { root } = newProject();
    // All files by name give the same key as the whole tree, without its rule about short setups.
    await halo.run(root, [{ id: 'A' }], settings('true', { setup: PURE, more: ['snapshot.inputs=["**"]'] }));
    const tree = scripted(OK, ['ls deps'], [`setup=${JSON.stringify([PURE])}`, ...recheck]);
    const run = await halo.run(root, [{ id: 'A' }], tree);
    expect(uses(journal(run.runId))).toEqual(['A setup overlay', 'A gates overlay']);
    expect(installs(journal(run.runId))).toEqual(['A setup', 'A gates']);
    expect(await halo.operations.breakers()).toEqual([]);
  });

  it('drops one that setup makes differently, and opens a breaker', async ({ halo, journal }) => {
    const { root } = newProject();
    await halo.run(root, [{ id: 'A' }], settings(CHANGE));
    const run = await halo.run(root, [{ id: 'A' }], settings(CHANGE, { more: recheck }));
    expect(run.stopReason).toBe('SUCCESS');
    const refused = journal(run.runId).flatMap((event) => (event.type === 'snapshot.refused' ? [event.reason] : []));
    expect(refused).toEqual([expect.stringMatching(/^setup no longer makes what it made at /)]);
    const [breaker] = await halo.operations.breakers();
    expect(breaker).toMatchObject({ key: expect.stringMatching(/^snapshot:/) as string, status: 'open' });
    const cold = await halo.run(root, [{ id: 'A' }], settings(CHANGE));
    expect(uses(journal(cold.runId))).toEqual([]);
    await halo.operations.resetBreaker(breaker!.key);
    const warm = await halo.run(root, [{ id: 'A' }], settings(CHANGE));
    expect(uses(journal(warm.runId))).toEqual(['A setup made overlay', 'A gates overlay']);
  });
});
