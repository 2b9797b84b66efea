import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import {
  directoryOf,
  expectRefused,
  expectStructure,
  openWorld,
  read,
  recordOf,
  settings,
  story,
  TWO,
  writePrd,
} from '../../support/contracts/hanuman.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { openHome, type Ended } from '../../support/halo/halo-process.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

const world = openWorld();

describe('a run that succeeds', () => {
  let repository: TestRepository;
  let prd: string;
  let words: string[];
  let end: Ended;
  let dir: string;

  beforeAll(async () => {
    repository = world.aRepository();
    writeFileSync(join(world.home.dir, 'config.toml'), '[profiles.calm]\nlimits.pids = 77\n');
    prd = writePrd(repository, TWO);
    const script = `echo '{"step":"one"}'; date +%s%N >> times; ${OK}`;
    words = ['--prd', prd, '--sandbox', '--profile', 'calm', ...settings(script, ['limits.cpus=2', 'limits.cpus=1'])];
    end = await world.run(repository, words);
    dir = directoryOf(end);
  });

  it('exits with 0 and prints nothing but its run directory below HALO_HOME on stdout', () => {
    expect(end).toMatchObject({ code: 0, stdout: `${dir}\n` });
    expect(dirname(dir)).toBe(join(world.home.dir, 'runs'));
    expect(recordOf(dir).runId).toBe(basename(dir));
  });

  it('leaves the structure of the contract', () => expectStructure(dir));

  it('leaves an empty debug bundle', () => expect(readdirSync(join(dir, 'debug_bundle'))).toEqual([]));

  it('records in run.json what was run, where, with what and how it ended', () => {
    const record = recordOf(dir);
    expect(record).toMatchObject({
      contractVersion: '0.1',
      status: 'ended',
      stopReason: 'SUCCESS',
      exitStatus: 0,
      repo: { path: repository.root, branch: 'main', headSha: repository.git('rev-parse', 'main') },
      prd: { path: prd },
      agent: { name: 'command' },
      args: ['run', ...words],
      config: { agent: 'command', gates: ['true'], limits: { pids: 77, cpus: 1 } },
    });
    expect(record.prd.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(Date.parse(record.endTime ?? '')).toBeGreaterThan(Date.parse(record.startTime ?? ''));
  });

  it('records in run.json what is complete and that nothing is next', () => {
    expect(recordOf(dir).progress).toMatchObject({ completed: ['S-1', 'S-2'], current: null, next: null });
  });

  it('runs the stories in order, each on the result of the previous one', () => {
    const commits = repository.git('log', '--reverse', '--format=%s', `main..halo/${basename(dir)}`).split('\n');
    expect(commits).toEqual(['feat: [S-1] - Title of S-1', 'feat: [S-2] - Title of S-2']);
    expect(repository.git('show', `halo/${basename(dir)}:times`).split('\n')).toHaveLength(2);
    const started = read(dir, 'journal.jsonl')
      .split('\n')
      .filter((line) => /"type":"story\.(started|ended)"/.test(line));
    expect(started.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      'story.started',
      'story.ended',
      'story.started',
      'story.ended',
    ]);
  });

  it('keeps the raw lines of the agent in events.jsonl in order', () => {
    const line = '{"step":"one"}\n{"status":"ok","summary":"Did it."}\n';
    expect(read(dir, 'events.jsonl')).toBe(line + line);
  });

  it('stores the result of each story in artifacts', () => {
    for (const id of ['s-1', 's-2']) {
      const [key] = readdirSync(join(dir, 'artifacts')).filter((name) => name.startsWith(id));
      expect(JSON.parse(read(dir, `artifacts/${key}/1/result.json`))).toEqual({ status: 'ok', summary: 'Did it.' });
    }
  });

  it('keeps its state in checkpoints/state.json', () => {
    const { state } = JSON.parse(read(dir, 'checkpoints/state.json')) as { state: { stories: { progress: string }[] } };
    expect(state.stories.map(({ progress }) => progress)).toEqual(['passed', 'passed']);
  });

  it('can be resumed repeatedly, and then does nothing', async () => {
    const again = await world.run(repository, ['--prd', prd, '--resume', basename(dir)]);
    expect(again).toMatchObject({ code: 0 });
    expect(directoryOf(again)).toBe(dir);
    expect(recordOf(dir).progress.stories.map(({ attempts }) => attempts)).toEqual([1, 1]);
  });
});

describe('a run whose agent gives no valid answer', () => {
  /** Without an answer for S-2 at first; it learns from the failure. */
  const SCRIPT = `p=$(cat); case "$p" in *"S-2: Title"*) case "$p" in *"last attempt failed"*) ;; *) echo half > half; exit 0;; esac;; esac; echo x >> x; ${OK}`;
  let repository: TestRepository;
  let prd: string;
  let end: Ended;
  let dir: string;

  beforeAll(async () => {
    repository = world.aRepository();
    prd = writePrd(repository, TWO);
    end = await world.run(repository, ['--prd', prd, ...settings(SCRIPT)]);
    dir = directoryOf(end);
  });

  it('ends with a stop reason and does not count the story as complete', () => {
    expect(end).toMatchObject({ code: 10 });
    expect(recordOf(dir)).toMatchObject({ stopReason: 'INVALID_OUTPUT', exitStatus: 10 });
    expect(recordOf(dir).progress).toMatchObject({ completed: ['S-1'], next: 'S-2' });
    expect(repository.git('log', '--format=%s', `main..halo/${basename(dir)}`)).toBe('feat: [S-1] - Title of S-1');
  });

  it('leaves a debug bundle with summary, run.json, the end of the events, git status and diff', () => {
    expect(read(dir, 'debug_bundle/summary.md')).toContain('INVALID_OUTPUT');
    expect(recordOf(dir, 'debug_bundle')).toMatchObject({ stopReason: 'INVALID_OUTPUT' });
    expect(read(dir, 'debug_bundle/events.tail.jsonl')).toBe(read(dir, 'events.jsonl'));
    expect(read(dir, 'debug_bundle/git-status.txt')).toContain(repository.git('rev-parse', 'main'));
    expect(read(dir, 'debug_bundle/git-diff.patch')).toContain('+half');
  });

  it('is not resumed with a PRD that specifies other work, and stays unchanged', async () => {
    const before = read(dir, 'journal.jsonl');
    const text = readFileSync(prd, 'utf8');
    writeFileSync(prd, text.replace('Title of S-2', 'Another title'));
    const refused = await world.run(repository, ['--prd', prd, '--resume', dir]);
    writeFileSync(prd, text);
    expectRefused(world.home, refused, 6, 'VALIDATION_FAILED', 'differs from the PRD of run');
    expect(read(dir, 'journal.jsonl')).toBe(before);
  });

  it('is resumed by its directory, and continues with only the next unfinished story', async () => {
    const said = read(dir, 'events.jsonl');
    const resumed = await world.run(repository, ['--prd', prd, '--resume', dir]);
    expect(resumed).toMatchObject({ code: 0 });
    expect(directoryOf(resumed)).toBe(dir);
    expect(read(dir, 'events.jsonl')).toBe(`${said}{"status":"ok","summary":"Did it."}\n`);
    expect(readdirSync(join(dir, 'debug_bundle'))).toEqual([]);
    const { stopReason, progress } = recordOf(dir);
    expect(stopReason).toBe('SUCCESS');
    expect(progress.stories.map(({ id, attempts }) => [id, attempts])).toEqual([
      ['S-1', 1],
      ['S-2', 2],
    ]);
    expect(repository.git('show', `halo/${basename(dir)}:x`)).toBe('x\nx');
  });
});

describe('a run directory of another home', () => {
  it('is started as a new run of its PRD, for the stories that have not passed', async () => {
    const repository = world.aRepository();
    const prd = join(repository.root, 'prd.json');
    writeFileSync(prd, JSON.stringify({ schemaVersion: '0.1', title: 'Shop', stories: TWO }));
    const script = `case "$(cat)" in *"S-2: Title"*) exit 7;; *) echo x > x; ${OK};; esac`;
    const first = directoryOf(await world.run(repository, ['--prd', prd, ...settings(script)]));
    expect(recordOf(first).progress).toMatchObject({ completed: ['S-1'], next: 'S-2' });
    const copy = join(tempDir('halo-copied-run'), 'run');
    cpSync(first, copy, { recursive: true });
    const other = openHome();
    onTestFinished(() => other.close());
    const words = ['run', '--resume', copy, ...settings(`echo x >> x; ${OK}`)];
    const branch = `halo/${basename(first)}`;
    const inOther = () => world.call(words, repository.root, { HALO_HOME: other.dir });
    const refused = await inOther();
    expect(refused).toMatchObject({ code: 6, stdout: '' });
    expect(refused.stderr).toContain(`are only on ${branch}.`);
    repository.git('merge', '--quiet', branch);
    const end = await inOther();
    expect(end.code, end.stderr).toBe(0);
    expect(end.stderr).toContain(`is not continued; its PRD ${prd} is started as a new run.`);
    const dir = directoryOf(end);
    expect(dirname(dir)).toBe(join(other.dir, 'runs'));
    expect(repository.git('show', `halo/${basename(dir)}:x`)).toBe('x\nx');
    expect(read(dir, 'events.jsonl').trim().split('\n')).toHaveLength(1);
    expect(read(copy, 'journal.jsonl')).toBe(read(first, 'journal.jsonl'));
  });

  it('is not started if its PRD specifies other work', async () => {
    const repository = world.aRepository();
    const prd = writePrd(repository, TWO);
    const dir = tempDir('halo-foreign-prd');
    const [version = ''] = parsePrd(readFileSync(prd), prd).specHash.split(':');
    writeFileSync(join(dir, 'run.json'), JSON.stringify({ prd: { path: prd, specHash: `${version}:0` } }));
    const end = await world.run(repository, ['--resume', dir, '--prd', prd]);
    expect(end).toMatchObject({ code: 6, stdout: '' });
    expect(end.stderr).toContain('differs from the PRD of the run in');
  });
});

describe('a run whose agent reports a status', () => {
  it('accepts each status, and detects an agent that fails', async () => {
    const repository = world.aRepository();
    const prd = writePrd(repository, [...TWO, story('S-3')]);
    const answers = `*"S-1: Title"*) echo '{"status":"needs_human","summary":"Which color?"}';; *"S-2: Title"*) echo '{"status":"failed","summary":"Too hard."}';; *) exit 7;;`;
    const script = `p=$(cat); echo x > x; case "$p" in ${answers} esac`;
    const end = await world.run(repository, ['--prd', prd, ...settings(script, ['run.on_failure="continue"'])]);
    expect(end).toMatchObject({ code: 4 });
    const { stopReason, detail, progress } = recordOf(directoryOf(end));
    expect({ stopReason, detail }).toEqual({ stopReason: 'NEEDS_HUMAN', detail: 'S-1: Which color?' });
    expect(progress.completed).toEqual([]);
    expect(progress.stories.map((each) => [each.id, each.stopReason])).toEqual([
      ['S-1', 'NEEDS_HUMAN'],
      ['S-2', 'ENGINE_ERROR'],
      ['S-3', 'ENGINE_ERROR'],
    ]);
  });
});

describe('a run whose process is killed', () => {
  it('is resumed by its id without losing what landed', async () => {
    const repository = world.aRepository();
    const prd = writePrd(repository, TWO);
    const words = [
      'run',
      '--prd',
      prd,
      ...settings(`case $(cat) in *"S-2: Title"*) ${HOLD};; esac; echo x >> x; ${OK}`),
    ];
    const started = world.home.start(words, { cwd: repository.root });
    await started.says('PASSED');
    started.process.kill('SIGKILL');
    await started.ended;
    const runId = /run +([0-9a-z]{15})/.exec(started.stderr())?.[1] ?? '';
    const resuming = world.run(repository, ['--prd', prd, '--resume', runId]);
    const record = () => recordOf(join(world.home.dir, 'runs', runId));
    await releaseUntil(
      () => [runId],
      () => expect(record().status).toBe('ended'),
    );
    expect(await resuming).toMatchObject({ code: 0 });
    const { progress } = recordOf(join(world.home.dir, 'runs', runId));
    expect(progress.completed).toEqual(['S-1', 'S-2']);
    expect(repository.git('show', `halo/${runId}:x`)).toBe('x\nx');
  });
});

// The same without a change is in smoke.flow.test.ts.
describe('a run in a repository without configuration', skipFor(belowFull()), () => {
  it('has no gates, says so, and lands what the agent calls done', async () => {
    const repository = world.aRepository();
    const prd = writePrd(repository, [story('S-1')]);
    const script = scripted(`echo x > x; ${OK}`, []).filter((pair) => !pair.startsWith('gates='));
    const end = await world.run(repository, ['--prd', prd, ...script.flatMap((pair) => ['-c', pair])]);
    expect(end).toMatchObject({ code: 0 });
    expect(end.stderr).toContain(`warning: No gates are configured for ${repository.root}: stories count as done when`);
    expect(recordOf(directoryOf(end))).toMatchObject({ stopReason: 'SUCCESS', config: { gates: [] } });
    expect(await world.run(repository, [prd, ...script.flatMap((pair) => ['-c', pair])])).toMatchObject({ code: 6 });
  });
});

describe('a run with --ask-for-approval', () => {
  it('waits for approval before a story lands, and continues after a yes', async () => {
    const repository = world.aRepository();
    const prd = writePrd(repository, TWO);
    const end = await world.run(repository, ['--prd', prd, '--ask-for-approval', ...settings(`echo x >> x; ${OK}`)]);
    expect(end).toMatchObject({ code: 4 });
    const dir = directoryOf(end);
    const runId = basename(dir);
    expect(recordOf(dir)).toMatchObject({ stopReason: 'NEEDS_HUMAN', progress: { completed: [], next: 'S-1' } });
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
    const approved = await world.call(['approve', runId, '--story', 'S-1', '--confirm', 'protected'], repository.root);
    expect(approved).toMatchObject({ code: 0 });
    expect(await world.run(repository, ['--prd', prd, '--resume', dir])).toMatchObject({ code: 4 });
    expect(recordOf(dir).progress).toMatchObject({ completed: ['S-1'], next: 'S-2' });
    expect(repository.git('show', `halo/${runId}:x`)).toBe('x');
  });
});
