import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore } from '../../src/store/store.ts';
import { nextSteps, toCommands } from '../../src/core/run/next-steps.ts';
import { skipFor } from '../support/skip.ts';
import { belowFull, casesAtLevel } from '../support/suite/level.ts';
import { openHalo, OK, scripted, type TestHalo } from '../support/halo/halo.ts';
import type { TestRepository } from '../support/repository/repository.ts';
import { HOLD } from '../support/halo/hold.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { PATIENCE } from '../support/patience.ts';

let halo: TestHalo;

beforeAll(async () => {
  halo = await openHalo();
});
afterAll(async () => {
  await halo.close();
  expect(await leftovers()).toEqual([]);
});

async function leftovers(): Promise<string[]> {
  const filters = { label: ['dev.halo=sandbox'] };
  const docker = new Docker();
  const [containers, volumes] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters: JSON.stringify(filters) }),
  ]);
  return [...containers.flatMap(({ Names }) => Names), ...volumes.Volumes.map(({ Name }) => Name)].filter((name) =>
    runIds.some((runId) => name.includes(runId)),
  );
}
const runIds: string[] = [];

async function run(repository: TestRepository, settings: string[], ids = ['US-001']) {
  const state = await halo.run(
    repository.root,
    ids.map((id) => ({ id })),
    settings,
  );
  runIds.push(state.runId);
  return state;
}

describe('a story that passes', () => {
  it('lands one commit with trailers on the run’s branch, each story on its predecessor', async () => {
    const repository = newRepository();
    const before = repository.git('rev-parse', 'HEAD');
    const state = await run(repository, scripted(`echo more >> log.txt; ${OK}`, ['test -s log.txt']), ['A', 'B']);
    expect(state).toMatchObject({ status: 'ended', stopReason: 'SUCCESS' });
    const starts = halo.journal(state.runId).filter((event) => event.type === 'story.started');
    expect(starts.map(({ queuedMs }) => typeof queuedMs)).toEqual(['number', 'number']);
    const branch = `halo/${state.runId}`;
    expect(repository.git('log', '--reverse', '--format=%s', `main..${branch}`)).toBe(
      'feat: [A] - Story A\nfeat: [B] - Story B',
    );
    const trailers = repository.git('log', '-1', '--format=%(trailers:only)', branch);
    const storyTrailers = ['Halo-Story: B', `Halo-Story-Key: ${state.stories[1]!.key}`, 'Halo-Attempt: 1'];
    const asked = ['Halo-Agent: command', `Requested-by: ${state.user}`];
    expect(trailers.split('\n')).toEqual([`Halo-Run: ${state.runId}`, ...storyTrailers, ...asked]);
    expect(repository.git('show', `${branch}:log.txt`)).toBe('more\nmore');
    expect(repository.git('rev-parse', 'HEAD')).toBe(before);
    expect(repository.git('status', '--porcelain')).toBe('');
  });

  it('passes without a commit if there is nothing to change and the gates pass on its base', async () => {
    const repository = newRepository({ 'done.txt': 'yes' });
    const agent = `p=$(cat); case "$p" in *"Story B"*) echo b > b.txt;; esac; ${OK}`;
    const state = await run(repository, scripted(agent, ['grep -q yes done.txt']), ['A', 'B']);
    expect(state).toMatchObject({
      stopReason: 'SUCCESS',
      detail: '2 of 2 stories finished: 1 passed, 1 needed no change',
      stories: [
        { id: 'A', progress: 'passed', attempts: 1 },
        { id: 'B', progress: 'passed' },
      ],
    });
    expect(state.stories[0]).not.toHaveProperty('commit');
    expect(repository.git('log', '--format=%s', `main..halo/${state.runId}`)).toBe('feat: [B] - Story B');
    expect(halo.readFile(state.runId, 'progress.md')).toContain('- commit: none, no change needed');
  });

  it('does not pass without a change if a gate fails on its base, or if there is no gate', async () => {
    const refused = await run(newRepository(), scripted(OK, ['test -e missing.txt'], ['retry.attempts=1']));
    expect(refused).toMatchObject({ stopReason: 'GATE_FAILED', tip: refused.repo.base });
    const unproven = await run(newRepository(), scripted(OK, [], ['retry.attempts=1']));
    expect(unproven).toMatchObject({ stopReason: 'INVALID_OUTPUT' });
  });

  it('leaves a complete run directory', async () => {
    const state = await run(newRepository(), scripted(`echo "I work."; echo x > x; ${OK}`, ['cat x']));
    const read = (path: string) => halo.readFile(state.runId, path);
    const { record } = await halo.operations.getRun({ runId: state.runId });
    expect(record).toMatchObject({ stopReason: 'SUCCESS', exitStatus: 0 });
    expect(JSON.parse(read('run.json'))).toEqual(record);
    expect(read('agent.log')).toContain('I work.');
    expect(read('events.jsonl')).toBe(read(`artifacts/${key(state)}/1/events.jsonl`));
    expect(read(`artifacts/${key(state)}/1/prompt.md`)).toContain('It works.');
    expect(JSON.parse(read(`artifacts/${key(state)}/1/result.json`))).toEqual({ status: 'ok', summary: 'Did it.' });
    expect(read(`artifacts/${key(state)}/1/diff.patch`)).toContain('+x');
    expect(read(`artifacts/${key(state)}/1/gates/1.log`)).toBe('x\n');
    expect(readdirSync(join(halo.home, 'runs', state.runId, 'debug_bundle'))).toEqual([]);
  });

  it('is built from the workspace files, independent of the agent’s git commands', async () => {
    const repository = newRepository();
    const state = await run(
      repository,
      scripted(`echo x > x; git add x; git -c user.name=a -c user.email=a@b commit -qm mine; rm -rf .git; ${OK}`),
    );
    expect(state.stopReason).toBe('SUCCESS');
    expect(repository.git('log', '--format=%an %s', `main..halo/${state.runId}`)).toBe(
      'halo feat: [US-001] - Story US-001',
    );
  });

  it('runs in a user’s own image, without git in it, with the tools of halo', async () => {
    const docker = new Docker();
    await buildPlainImage(docker);
    const settings = scripted(`command -v git && exit 1; echo x > x; ${OK}`, ['test -f x'], ['image=halo-test-plain']);
    const state = await run(newRepository(), settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
  });

  it('works the same if nothing can be mounted', async () => {
    const repository = newRepository({ 'a.txt': 'a\n' });
    repository.git('tag', '-a', 'v1', '-m', 'one');
    repository.write('b.txt', 'b');
    repository.commit('second');
    const work = `git describe > described; git rev-parse --verify origin/main; echo b >> a.txt; ${OK}`;
    const settings = scripted(work, ['grep b a.txt', 'git log -1 v1'], ['workspace.transport=stream']);
    const state = await run(repository, settings);
    expect(state.stopReason).toBe('SUCCESS');
    expect(repository.git('show', `halo/${state.runId}:a.txt`)).toBe('a\nb');
    expect(repository.git('show', `halo/${state.runId}:described`)).toMatch(/^v1-1-g/);
  });

  it.each(casesAtLevel(['mount'], ['stream']))(
    'reaches its own servers by the name localhost (transport %s)',
    async (transport) => {
      const settings = scripted(`echo x > x; ${OK}`, [CONNECT_TO_LOCALHOST], [`workspace.transport=${transport}`]);
      expect((await run(newRepository(), settings)).stopReason).toBe('SUCCESS');
    },
  );
});

// Also in test/e2e/input/bad-input.flow.test.ts.
describe('a story in another repository', skipFor(belowFull()), () => {
  it('works in a path with spaces and non-ASCII letters', async () => {
    const repository = newRepository({ 'grüße.txt': 'hallo\n' }, 'Mein Projekt – größer');
    const state = await run(repository, scripted(`cat grüße.txt > "über alles.txt"; ${OK}`, ['cat "über alles.txt"']));
    expect(state.stopReason).toBe('SUCCESS');
  });

  it.each(['mount', 'stream'])('works on a shallow clone (transport %s)', async (transport) => {
    const origin = newRepository();
    origin.write('b', 'b');
    origin.commit('second');
    const clone = newRepository();
    const shallow = join(clone.root, 'shallow');
    execFileSync('git', ['clone', '-q', '--depth', '1', `file://${origin.root}`, shallow]);
    const settings = scripted(
      `git rev-list --count HEAD > c; ${OK}`,
      ['git fsck'],
      [`workspace.transport=${transport}`],
    );
    const state = await halo.run(shallow, [{ id: 'A' }], settings);
    runIds.push(state.runId);
    expect(execFileSync('git', ['-C', shallow, 'show', `halo/${state.runId}:c`], { encoding: 'utf8' })).toBe('1\n');
    expect(state.stopReason).toBe('SUCCESS');
  });
});

describe('a story that does not pass', () => {
  it('fails with the gate that failed, its log, a bundle, and no commit', async () => {
    const repository = newRepository();
    const state = await run(repository, scripted(`echo x > x; ${OK}`, ['true', 'echo no such luck; exit 3', 'true']));
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
    expect(state.detail).toContain('exited 3');
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
    expect(halo.readFile(state.runId, 'debug_bundle/summary.md')).toContain('exited 3');
    expect(halo.readFile(state.runId, `artifacts/${key(state)}/1/gates/2.log`)).toBe('no such luck\n');
    expect(halo.readFile(state.runId, 'debug_bundle/git-diff.patch')).toContain('+x');
  });

  it('shows the next attempt the reason, and lands when that one passes', async () => {
    const agent = `if grep -q GATE_FAILED; then echo good > x; else echo bad > x; fi; ${OK}`;
    const settings = scripted(agent, ['grep good x || { echo no such luck; exit 1; }'], ['retry.attempts=2']);
    const state = await run(newRepository(), settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(state.stories[0]).toMatchObject({ progress: 'passed', attempts: 2 });
  });

  it.each(
    casesAtLevel<[name: string, agent: string, reason: string, ...settings: string[]]>(
      [['an agent that ran too long', 'sleep 60', 'TIMEOUT', 'limits.wall="1s"']],
      [
        // Each is in test/contract or test/e2e/recovery, too.
        ['an agent that reports success for nothing', OK, 'INVALID_OUTPUT', 'land.unchanged="fail"'],
        ['an agent that ends in prose', 'echo x > x; echo "All done!"', 'INVALID_OUTPUT'],
        ['an agent that fails as a program', 'echo x > x; exit 9', 'ENGINE_ERROR'],
        ['an agent that left a link out of the tree', `ln -s /etc/passwd leak; ${OK}`, 'POLICY_VIOLATION'],
        ['an agent that gives up', `echo '{"status":"failed","summary":"Too hard."}'`, 'ENGINE_ERROR'],
        // Also in container-bombs.docker.test.ts, which always runs.
        ['an agent that went silent', 'sleep 60', 'TIMEOUT', 'limits.idle="1s"'],
        ['an agent that talks without end', 'yes', 'ENGINE_ERROR', 'limits.output="1m"'],
      ],
    ),
  )('reports the result of %s', async (_name, agent, reason, ...settings) => {
    const state = await run(newRepository(), scripted(agent, ['true'], settings));
    expect(state.stopReason).toBe(reason);
    expect(halo.readFile(state.runId, 'debug_bundle/summary.md')).toContain(reason);
  });

  it('names the failed tests in the log, the report and the next prompt', async () => {
    const printed = 'TAP version 13\\nnot ok 1 - adds up\\n  ---\\n  error: 1 is not 2\\n  ...\\n1..1\\n';
    const gate = `printf '${printed}'; yes counters | head -n 100; exit 1`;
    const state = await run(
      newRepository(),
      scripted(`echo x >> x; ${OK}`, [gate], ['retry.attempts=2', 'tests.baseline=auto', 'tests.broken_base=retry']),
    );
    expect(state.detail).toMatch(
      /^US-001: 1 test failed: adds up; gate exited 1; it fails on the base commit as well: `/,
    );
    expect(state.stories[0]?.failedTests).toMatchObject({ gate, count: 1, tests: [{ name: 'adds up' }] });
    expect(halo.readFile(state.runId, 'debug_bundle/summary.md')).toMatch(/> ✗ adds up\n> {3}1 is not 2/);
    expect(halo.readFile(state.runId, 'agent.log')).toMatch(/✗ adds up\n.*1 is not 2/);
    expect(halo.readFile(state.runId, `artifacts/${key(state)}/2/prompt.md`)).toMatch(/✗ adds up\n {2}1 is not 2/);
  });

  it('ends immediately if the image lacks a program of setup, and names it', async () => {
    const settings = ['setup=["nosuchtool mod download"]'];
    const state = await run(newRepository(), scripted(`echo x > x; ${OK}`, ['true'], settings));
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', stories: [{ attempts: 1 }] });
    expect(state.detail).toMatch(
      /`nosuchtool` was not found: neither the image halo-sandbox.*build an image that has it/,
    );
  });

  it('ends immediately if the script of the agent is not in the commit', async () => {
    const state = await run(newRepository(), scripted('./tools/agent.sh'));
    expect(state).toMatchObject({ stopReason: 'ENGINE_ERROR', stories: [{ attempts: 1 }] });
    expect(state.detail).toContain('./tools/agent.sh: not found');
    expect(toCommands(nextSteps(state)).map(({ command }) => command)).toContainEqual(
      expect.stringMatching(/^halo submit /),
    );
  });

  it('keeps the unfinished work of an agent that needs a human', async () => {
    const agent = `echo half > x; echo '{"status":"needs_human","summary":"Which color?"}'`;
    const state = await run(newRepository(), scripted(agent));
    expect(state).toMatchObject({
      stopReason: 'NEEDS_HUMAN',
      detail: expect.stringContaining('Which color?') as string,
    });
    expect(halo.readFile(state.runId, `artifacts/${key(state)}/1/diff.patch`)).toContain('+half');
  });
});

it('names the folder that prevents the export', async () => {
  const state = await run(newRepository(), scripted(`mkdir own; cd own; git init -q; echo 1 > f; ${OK}`));
  expect(state).toMatchObject({ stopReason: 'POLICY_VIOLATION' });
  expect(state.detail).toContain('own/');
});

describe('an attempt that was overtaken', () => {
  it('does not land after its run was ended elsewhere', async () => {
    const repository = newRepository();
    const runId = await halo.submit(repository.root, [{ id: 'A' }], scripted(`echo x > x; ${HOLD}; ${OK}`));
    runIds.push(runId);
    for await (const { event } of await halo.operations.followEvents({ runId, after: 0, follow: true })) {
      if (event.type === 'phase.started' && event.phase === 'agent') break;
    }
    const elsewhere = openStore(halo.home, { transcribe });
    await elsewhere.append(runId, [{ type: 'run.ended', stopReason: 'USER_ABORT', detail: 'stopped elsewhere' }]);
    await vi.waitFor(async () => expect(await leftovers()).toEqual([]), PATIENCE);
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
    expect((await halo.operations.getRun({ runId })).state).toMatchObject({ stopReason: 'USER_ABORT' });
  });
});

describe('the sandbox of an agent', () => {
  it('sees no network, no file of another story, and no variable of the worker', async () => {
    const script = [
      '(exec 3<>/dev/tcp/1.1.1.1/80) 2>/dev/null && exit 8',
      'getent hosts example.com && exit 8',
      'env | grep -i -E "key|token|secret" && exit 8',
      `echo x > x; ${OK}`,
    ].join('\n');
    expect((await run(newRepository(), scripted(script))).stopReason).toBe('SUCCESS');
  });
});

const CONNECT_TO_LOCALHOST = `python3 -c "
import socket
server = socket.create_server(('127.0.0.1', 0))
socket.create_connection(('localhost', server.getsockname()[1]), 5)
"`;

function key(state: { stories: { key: string }[] }): string {
  return state.stories[0]!.key;
}

/** A shell and little more, from halo's own image, so that nothing has to be pulled. */
async function buildPlainImage(docker: Docker): Promise<void> {
  const stream = await docker.buildImage(
    { context: join(import.meta.dirname, 'fixtures', 'plain-image'), src: ['Dockerfile'] },
    { t: 'halo-test-plain', networkmode: 'none' },
  );
  await new Promise((resolve, reject) =>
    docker.modem.followProgress(stream, (error: Error | null, output: { error?: string }[]) => {
      const failed = output.find((line) => line.error !== undefined)?.error;
      if (error === null && failed === undefined) resolve(undefined);
      else reject(error ?? new Error(failed));
    }),
  );
}
