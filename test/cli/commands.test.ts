import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseSince } from '../../src/cli/options/filter-runs.ts';
import { NO_USAGE } from '../../src/core/agent.ts';
import { HaloError } from '../../src/core/failure/errors.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import type { RunState } from '../../src/core/run/state.ts';
import { storyKey } from '../../src/core/run/story-key.ts';
import { runCli, type CliOptions } from '../support/terminal/cli-world.ts';
import { openMemory, type MemoryOperations } from '../support/memory-operations.ts';
import {
  asked,
  attempted,
  BASE,
  COMMIT,
  created,
  failed,
  failedWithTests,
  held,
  passed,
  succeeded,
} from '../support/journal.ts';
import { tempDir } from '../support/temp-dir.ts';

let folder: string;
let operations: MemoryOperations;

beforeAll(async () => {
  folder = tempDir('halo cli ä ');
  await writeFile(join(folder, 'prd.json'), '{}');
});
beforeEach(() => {
  operations = openMemory();
});

function halo(words: string[], options: Partial<CliOptions> = {}) {
  return runCli(words, { operations, cwd: folder, ...options });
}

describe('halo submit', () => {
  it('prints nothing but run ids on stdout', async () => {
    const result = await halo(['submit', 'prd.json', '--repo', 'a', '--repo', 'ssh://git@host/b.git']);
    expect(result).toMatchObject({ code: 0, stdout: 'new-1\nnew-2\n' });
    expect(result.stderr).toContain('warning: a warning');
    expect(operations.submitted[0]?.repos).toEqual([join(folder, 'a'), 'ssh://git@host/b.git']);
  });

  it('accepts this folder, settings and --agent', async () => {
    await halo(['submit', 'prd.json', '-c', 'a=1', '--config', 'b=2', '--agent', 'command', '--profile', 'ci']);
    expect(operations.submitted).toMatchObject([
      { repos: [folder], set: ['a=1', 'b=2', 'agent=command'], profile: 'ci', allowDirty: false },
    ]);
  });

  it('selects stories with --story, which a resumed run refuses, and passes --dry-run on', async () => {
    await halo(['submit', 'prd.json', '--story', 'US-002', '--story', 'US-003']);
    expect(operations.submitted[0]?.stories).toEqual(['US-002', 'US-003']);
    await halo(['submit', 'prd.json', '--dry-run']);
    expect(operations.submitted[1]).toMatchObject({ dryRun: true });
    const resumed = await halo(['run', '--resume', 'r1', '--story', 'US-002']);
    expect(resumed).toMatchObject({ code: 2, stdout: '' });
    expect(resumed.stderr).toContain('A resumed run keeps its stories and its kind; --story');
  });

  it('reads a PRD from stdin', async () => {
    await halo(['submit', '-'], { stdin: '{"ä":1}' });
    expect(operations.submitted[0]?.prd).toEqual({ path: '-', bytes: new TextEncoder().encode('{"ä":1}') });
  });

  it('finds the PRD in a usual place if none is named, and prints its path', async () => {
    const result = await halo(['submit', '--repo', folder]);
    expect(operations.submitted[0]?.prd.path).toBe(join(folder, 'prd.json'));
    expect(result.stderr).toContain(`PRD ${join(folder, 'prd.json')}\n`);
    expect((await halo(['submit', '--repo', 'a', '--repo', 'b'])).code).toBe(2);
  });

  it('names the missing file', async () => {
    const result = await halo(['submit', 'no.json']);
    expect(result).toMatchObject({ code: 6, stdout: '' });
    expect(result.stderr).toContain(`error[PRD_UNREADABLE]: There is no file ${join(folder, 'no.json')}.`);
  });
});

describe('a command about one run', () => {
  const runsOf = async (ids: string[], refused: string[] = []) => {
    const top = await mkdtemp(join(folder, 'shop-'));
    await mkdir(join(top, '.git'));
    const cwd = join(top, 'src');
    await mkdir(cwd);
    for (const id of ids) {
      const [first, ...rest] = succeeded(id);
      if (first?.type !== 'run.created') throw new Error('the first event is run.created');
      const isRefused = refused.includes(id) && { refused: true as const };
      operations.addRun([{ ...first, repo: { ...first.repo, source: await realpath(top) }, ...isRefused }, ...rest]);
    }
    operations.addRun(succeeded('elsewhere'));
    return { cwd };
  };

  it('selects the newest run of this repository when none is given, and prints its id', async () => {
    const here = await runsOf(['older', 'newer']);
    for (const words of [['diff'], ['diff', '@'], ['diff', '-1'], ['diff', '@-1']]) {
      const result = await halo(words, here);
      expect(result).toMatchObject({ code: 0, stderr: 'run newer\n' });
      expect(result.stdout).toContain('a/newer');
    }
    expect((await halo(['diff', '-2'], here)).stdout).toContain('a/older');
  });

  it('does not count runs that were refused before they started, unless there are no others', async () => {
    const here = await runsOf(['older', 'refused-1', 'newer', 'refused-2'], ['refused-1', 'refused-2']);
    for (const words of [['diff'], ['diff', '@'], ['diff', '-1']])
      expect((await halo(words, here)).stderr).toBe('run newer\n');
    expect((await halo(['diff', '-2'], here)).stderr).toBe('run older\n');
    expect((await halo(['cancel', '-3'], here)).stderr).toContain('There are only 2 runs of ');
    const onlyRefused = await runsOf(['refused-3', 'refused-4'], ['refused-3', 'refused-4']);
    expect((await halo(['diff'], onlyRefused)).stderr).toContain('run refused-4\n');
  });

  it('selects no run if the repository has none, or fewer than the number asks for', async () => {
    const here = await runsOf(['only']);
    expect(await halo(['cancel', '-2'], here)).toMatchObject({ code: 2, stdout: '' });
    expect((await halo(['cancel', '-2'], here)).stderr).toContain('There is only one run of ');
    expect((await halo(['land'])).stderr).toContain(`There is no run of ${await realpath(folder)}.`);
  });
});

describe('halo run', () => {
  /** A worker that plays the given events as the run that was submitted. */
  function playing(play: (append: MemoryOperations['append']) => void) {
    let closed = false;
    const startWorker = () => {
      play((runId, entry) => operations.append(runId, entry));
      return Promise.resolve({ concurrency: 1, close: () => Promise.resolve(void (closed = true)) });
    };
    return { services: { startWorker }, isClosed: () => closed };
  }
  beforeEach(() => operations.addRun([created('new-1', 2)]));

  it('prints plain lines, the verdict and finally the run directory if stdout is not a terminal', async () => {
    const worker = playing((append) => {
      for (const entry of [...passed('US-001'), ...passed('US-002')]) append('new-1', entry);
      append('new-1', { type: 'run.ended', stopReason: 'SUCCESS', detail: '2 of 2 stories passed' });
    });
    const result = await halo(['run', 'prd.json'], worker);
    expect(result.code).toBe(0);
    const lines = result.stdout.trimEnd().split('\n');
    expect(lines[0]).toContain('run      new-1  2 stories of shop');
    expect(result.stdout).toContain('US-001    gate     ok      1.2s    npm test');
    expect(result.stdout).toContain('next      halo diff new-1');
    expect(lines.at(-1)).toBe('/halo/runs/new-1');
    expect(worker.isClosed()).toBe(true);
  });

  it.each([
    ['GATE_FAILED', 10],
    ['ATTEMPTS_EXHAUSTED', 11],
    ['NEEDS_HUMAN', 4],
  ] as const)('ends with the exit code of %s', async (stopReason, code) => {
    const worker = playing((append) => append('new-1', { type: 'run.ended', stopReason, detail: '' }));
    expect((await halo(['run', 'prd.json'], worker)).code).toBe(code);
  });

  it('prints one event per line and nothing else with --json', async () => {
    const worker = playing((append) => append('new-1', { type: 'run.ended', stopReason: 'SUCCESS', detail: '' }));
    const { stdout } = await halo(['run', 'prd.json', '--json'], worker);
    const types = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(['run.created', 'run.ended']);
  });

  it('stops the run at the first Ctrl-C, reports it, and exits with 130', async () => {
    let pressCtrlC = () => {};
    const worker = playing(() => setImmediate(() => pressCtrlC()));
    const result = await halo(['run', 'prd.json'], { ...worker, onReady: (press) => (pressCtrlC = press) });
    expect(result.code).toBe(130);
    expect(result.stderr).toContain('stopping:');
    expect(result.stdout).toContain('USER_ABORT');
  });

  it('exits immediately at the second Ctrl-C, and prints how to see the result of the run', async () => {
    let pressCtrlC = () => {};
    const worker = playing(() =>
      setImmediate(() => {
        pressCtrlC();
        pressCtrlC();
      }),
    );
    const result = await halo(['run', 'prd.json'], { ...worker, onReady: (press) => (pressCtrlC = press) });
    expect(result.stderr).toContain('[left immediately with 130]');
    expect(result.stderr).toContain('`halo status new-1` shows the state of the run');
  });

  it('closes the worker when following fails', async () => {
    const worker = playing(() => undefined);
    const broken = {
      ...operations,
      getRun: () => Promise.reject(new HaloError('RUN_UNREADABLE', 'The journal is torn.')),
    };
    expect((await halo(['run', 'prd.json'], { ...worker, operations: broken })).code).toBe(1);
    expect(worker.isClosed()).toBe(true);
  });
});

const RETRY = { nth: 1, of: 2, notBefore: '2030-01-01T00:00:20.000Z', why: 'npm test exited with 1' };

describe('halo logs', () => {
  it('shows what a run did, or only one story of it', async () => {
    operations.addRun([created('r1', 2), ...passed('US-001'), ...failed('US-002')]);
    const all = await halo(['logs', 'r1']);
    expect(all.stdout).toContain('US-001    agent    $ npm test');
    expect(all.stdout).toContain('US-002    story    FAILED  GATE_FAILED');
    const one = await halo(['logs', 'r1', '--story', 'US-002']);
    expect(one.stdout).not.toContain('US-001');
    expect(one.stdout.split('\n')[0]).toMatch(/^ {3}14\.0s {2}US-002/);
  });

  it('shows a run in figures: attempts with their results and costs, retries and breakers', async () => {
    operations.addRun([
      created('r1', 1),
      { type: 'run.started' },
      ...failed('US-001'),
      { type: 'retry.scheduled', story: 'US-001', attempt: 1, class: 'gate', rule: 'hint', ...RETRY },
      { type: 'breaker.opened', reason: '3 failures in a row changed no file' },
      { type: 'story.started', story: 'US-001', attempt: 2, epoch: 2, base: BASE },
    ]);
    const { stdout } = await halo(['logs', 'r1', '--summary'], { columns: 140 });
    const lines = stdout.split('\n').map((line) => line.replace(/ {2,}/g, '  '));
    expect(lines).toContain('retries  1 (gate 1)');
    expect(lines).toContain('breaker  2030-01-01 00:00:16 UTC  3 failures in a row changed no file');
    expect(lines).toContain('US-001  1  failed: gate  12.0s  3.0s  3.0s  13.0k  -  npm test exited with 1');
    expect(lines.at(-2)).toMatch(/^US-001 {2}2 {2}running {2}/);
    const json = JSON.parse((await halo(['logs', 'r1', '--summary', '--json'])).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({ runId: 'r1', retries: { gate: 1 }, usage: { requests: 3 } });
    expect(await halo(['logs', 'r1', '--summary', '--follow'])).toMatchObject({ code: 2, stdout: '' });
  });

  it('passes raw output through byte for byte, but escapes it on a terminal', async () => {
    const raw = [{ story: 'US-001', line: '{"text":"\u001b]0;x\u0007hi\u001b[31m"}' }];
    operations.addRun([created('r1', 1)], raw);
    expect((await halo(['logs', 'r1', '--raw'])).stdout).toBe(`${raw[0]?.line}\n`);
    const shown = await halo(['logs', 'r1', '--raw'], { terminal: { shown: true } });
    expect(shown.stdout).toBe('{"text":"<U+001B>]0;x<U+0007>hi"}\n');
  });

  it('follows until the run ends, and only follows less when interrupted', async () => {
    operations.addRun([created('r1', 1)]);
    const following = halo(['logs', 'r1', '-f', '--json']);
    await expect.poll(() => operations.followers('r1')).toBe(1);
    operations.append('r1', { type: 'run.ended', stopReason: 'SUCCESS', detail: '' });
    expect((await following).stdout.trim().split('\n')).toHaveLength(2);

    operations.addRun([created('r2', 1)]);
    let pressCtrlC = () => {};
    const second = halo(['logs', 'r2', '-f'], { onReady: (press) => (pressCtrlC = press) });
    await expect.poll(() => operations.followers('r2')).toBe(1);
    pressCtrlC();
    expect((await second).code).toBe(0);
  });

  it('watch shows live what the agents do, a line for each event, and ends with the run', async () => {
    const usage = { requests: 1, inputTokens: 12_345, cachedTokens: 0, outputTokens: 678, costUsd: 0.2 };
    const used = { type: 'model.used', story: 'US-001', attempt: 1, model: 'gpt-5', told: 'all', usage } as const;
    operations.addRun([created('r1', 1), { type: 'run.started' }, ...attempted('US-001').slice(0, -3)]);
    const watching = halo(['watch', 'r1']);
    await expect.poll(() => operations.followers('r1')).toBe(1);
    const say = 'First I read\nthe tests \u001b]0;x\u0007.';
    const activity = { kind: 'say', text: say } as const;
    for (const entry of [used, used]) operations.append('r1', { ...entry, tokens: 1, ms: 3100 });
    operations.append('r1', { type: 'agent.activity', story: 'US-001', attempt: 1, activity });
    for (const entry of attempted('US-001').slice(-3)) operations.append('r1', entry);
    operations.append('r1', { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' });
    const { stdout, stderr } = await watching;
    expect(stderr).toMatch(/^US-001 {2}agent .*: Story number 1\n\n/);
    expect(stdout.split('\n').map((line) => line.slice(20))).toEqual([
      'agent    starts',
      'agent    Looking at the tests first.',
      'agent    $ npm test',
      'agent    exit 1: npm test',
      'agent    edited  src/cart.ts',
      'model    gpt-5  $0.20, 12.3k tokens in, 678 out in 3.1s; $0.20 so far',
      'model    gpt-5  $0.20, 12.3k tokens in, 678 out in 3.1s; $0.40 so far',
      'agent    First I read the tests <U+001B>]0;x<U+0007>.',
      'agent    done    3.0s',
      'gates    starts',
      'gate     $ npm test',
      'run      USER_ABORT  ',
      '',
    ]);
    const ended = await halo(['watch', 'r1', '--json']);
    expect(ended.stdout).toBe('');
  });

  it('logs -f ends with the next steps of a run, on stderr', async () => {
    operations.addRun([created('r1', 1)]);
    const following = halo(['logs', 'r1', '-f']);
    await expect.poll(() => operations.followers('r1')).toBe(1);
    for (const entry of failed('US-001', 1)) operations.append('r1', entry);
    operations.append('r1', { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: '' });
    const { stdout, stderr } = await following;
    expect(stderr).toContain('halo retry r1');
    expect(stdout).not.toContain('halo retry');
  });

  it('lists the stories of the run if one is unknown', async () => {
    operations.addRun([created('r1', 2)]);
    const result = await halo(['logs', 'r1', '--story', 'US-9']);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('hint:  Use one of its stories: US-001, US-002.');
  });

  it('names the command that prints the whole log of a gate, which prints it', async () => {
    operations.addRun([created('r1', 2), ...passed('US-001'), ...failed('US-002', 1)]);
    const log = `${'line\n'.repeat(50)}\u001b]0;title\u0007not ok 7\n`;
    operations.addArtifact('r1', `${storyKey('US-002')}/1/gates/1.log`, log);
    operations.addArtifact('r1', `${storyKey('US-002')}/1/gates/2.log`, 'other');
    const { stdout } = await halo(['logs', 'r1']);
    expect(stdout).toContain('FAILED  1.2s    npm test  (exit 1)\n');
    const command = /halo (logs r1 --story US-002 --attempt 1 --gate 1)\n/.exec(stdout)?.[1] ?? '';
    const whole = `${'line\n'.repeat(50)}<U+001B>]0;title<U+0007>not ok 7\n`;
    expect((await halo(command.split(' '))).stdout).toBe(whole);
    // Without a story and an attempt, it is the one that failed.
    expect((await halo(['logs', 'r1', '--gate', '1', '-n', '2'])).stdout).toBe(
      'line\n<U+001B>]0;title<U+0007>not ok 7\n',
    );
    expect((await halo(['logs', 'r1', '--gate', '1', '--raw'])).stdout).toBe(log);
    const shown = await halo(['logs', 'r1', '--gate', '1', '--raw'], { terminal: { shown: true } });
    expect(shown.stdout).toBe(whole);
    expect((await halo(['logs', 'r1', '--gate', '3'])).stderr).toMatch(
      /left no log of a gate 3[^]*these gates: 1, 2\./,
    );
  });

  it('prints the prompt, and the logs of setup by name where there are several', async () => {
    operations.addRun([created('r1', 1), ...failed('US-001')]);
    for (const name of ['setup/setup-1.log', 'setup/setup-2.log', 'prompt.md'])
      operations.addArtifact('r1', `${storyKey('US-001')}/1/${name}`, `in ${name}`);
    expect((await halo(['logs', 'r1', '--prompt'])).stdout).toBe('in prompt.md\n');
    expect((await halo(['logs', 'r1', '--setup'])).stdout).toBe(
      '==> setup/setup-1.log <==\nin setup/setup-1.log\n==> setup/setup-2.log <==\nin setup/setup-2.log\n',
    );
    const both = await halo(['logs', 'r1', '--setup', '--prompt']);
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('exclude each other') as string });
    expect((await halo(['logs', 'r1', '--attempt', '2', '--prompt'])).stderr).toContain('has had one attempt');
  });

  it('prints what the agent wrote to stderr, and suggests that option if the agent failed', async () => {
    const sign = { error: '', changed: false, denied: false, kind: 'agent' } as const;
    const failure = { class: 'agent', rule: 'hint', sign } as const;
    const summary = 'The agent command ended with exit code 1: no such model';
    const ref = { story: 'US-001', attempt: 1 };
    const end = { verdict: 'failed', stopReason: 'ENGINE_ERROR', summary, usage: NO_USAGE, failure } as const;
    operations.addRun([created('r1', 1), ...attempted('US-001'), { type: 'story.ended', ...ref, ...end }]);
    operations.addArtifact('r1', `${storyKey('US-001')}/1/agent.stderr.log`, 'trace\nno such model\n');
    const { stdout } = await halo(['logs', 'r1']);
    expect(stdout).toContain('no such model\n');
    const command = /halo (logs r1 --story US-001 --attempt 1 --stderr)\n/.exec(stdout)?.[1] ?? '';
    expect((await halo(command.split(' '))).stdout).toBe('trace\nno such model\n');
    expect((await halo(['logs', 'r1', '--stderr', '-n', '1'])).stdout).toBe('no such model\n');
  });

  it('truncates nothing with --full, including logs of gates', async () => {
    const said = Array.from({ length: 40 }, (_, index) => `said ${index}`).join('\n');
    const ref = { story: 'US-001', attempt: 1 };
    operations.addRun([
      created('r1', 1),
      ...failed('US-001'),
      { type: 'agent.activity', ...ref, activity: { kind: 'say', text: said } },
    ]);
    operations.addArtifact('r1', `${storyKey('US-001')}/1/gates/1.log`, 'one\ntwo\n'.repeat(20));
    expect((await halo(['logs', 'r1'])).stdout).not.toContain('said 39');
    const { stdout } = await halo(['logs', 'r1', '--full']);
    expect(stdout).toContain('said 39');
    expect(stdout.match(/ two$/gm)).toHaveLength(20);
  });

  it('prints the time of day with -t, and only newer or last lines with --since and -n', async () => {
    operations.addRun([created('r1', 2), ...passed('US-001')]);
    expect((await halo(['logs', 'r1', '-t'])).stdout).toMatch(/^2030-01-01T00:00:00Z {2} {10}run/);
    const { stdout } = await halo(['logs', 'r1', '-t', '--since', '2030-01-01T00:00:12Z']);
    expect(stdout.split('\n')[0]).toMatch(/^2030-01-01T00:00:12Z {2}US-001 {4}gate/);
    const last = (await halo(['logs', 'r1'])).stdout.trimEnd().split('\n').slice(-2);
    expect((await halo(['logs', 'r1', '-n', '2'])).stdout).toBe(`${last.join('\n')}\n`);
    const wrong = await halo(['logs', 'r1', '--since', 'yesterday']);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('neither a date nor') as string });
  });

  it('interprets a time of day as its latest occurrence', () => {
    const now = new Date(2030, 0, 2, 9, 0);
    expect(parseSince('03:12', now)).toBe(new Date(2030, 0, 2, 3, 12).toISOString());
    expect(parseSince('23:50', now)).toBe(new Date(2030, 0, 1, 23, 50).toISOString());
    expect(() => parseSince('24:00', now)).toThrow('neither a date nor');
  });

  it.each([
    ['the clock goes back at 03:00 CEST', '2030-10-27T00:40:00Z', '02:30', '2030-10-27T00:30:00.000Z'],
    ['it has gone back, and 02:30 comes again', '2030-10-27T01:20:00Z', '02:30', '2030-10-27T00:30:00.000Z'],
    ['02:30 was there twice', '2030-10-27T01:40:00Z', '02:30', '2030-10-27T01:30:00.000Z'],
    ['02:30 was there twice, a day ago', '2030-10-28T01:20:00Z', '02:30', '2030-10-27T01:30:00.000Z'],
    ['the clock goes forward at 02:00 CET', '2031-03-30T01:10:00Z', '02:30', '2031-03-29T01:30:00.000Z'],
    ['02:30 was not there', '2031-03-30T20:00:00Z', '02:30', '2031-03-29T01:30:00.000Z'],
    ['a day after that', '2031-03-31T00:10:00Z', '02:30', '2031-03-29T01:30:00.000Z'],
  ])('hazard 61: interprets a time of day as its latest occurrence when %s', (_when, now, text, found) => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(parseSince(text, new Date(now))).toBe(found);
  });

  it('interprets a date without a zone in local time, with and without a time of day', () => {
    vi.stubEnv('TZ', 'America/New_York');
    onTestFinished(() => void vi.unstubAllEnvs());
    const now = new Date(2030, 0, 2, 9, 0);
    expect(parseSince('2030-01-01', now)).toBe(new Date(2030, 0, 1).toISOString());
    expect(parseSince('2030-01-01 03:12', now)).toBe(new Date(2030, 0, 1, 3, 12).toISOString());
    expect(parseSince('2030-01-01T03:12:00Z', now)).toBe('2030-01-01T03:12:00.000Z');
  });

  it('shows several runs, or those of a batch, in chronological order, with the run at the start of each line', async () => {
    operations.addRun([created('run-aaa111', 1), ...passed('US-001')]);
    operations.addRun([created('run-bbb222', 1), { type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
    const lines = (await halo(['logs', 'run-a', 'run-b', 'run-a'])).stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^shop aaa111 \| {5}0\.0s .*run-aaa111/);
    expect(lines.map((line) => line.slice(5, 11)).slice(0, 4)).toEqual(['aaa111', 'bbb222', 'aaa111', 'bbb222']);
    const events = (await halo(['logs', 'run-a', 'run-b', '--json'])).stdout.trimEnd().split('\n');
    expect(JSON.parse(events[1] ?? '')).toMatchObject({ runId: 'run-bbb222', type: 'run.created' });
    const both = await halo(['logs', 'run-a', 'run-b', '--prompt']);
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('read the files of one run') as string });
  });

  it('follows all runs that have not ended if none is named', async () => {
    operations.addRun(succeeded('run-000000'));
    operations.addRun([created('run-aaa111', 1)]);
    operations.addRun([created('run-bbb222', 1)]);
    const following = halo(['logs', '-f']);
    for (const run of ['run-aaa111', 'run-bbb222']) {
      await expect.poll(() => operations.followers(run)).toBe(1);
      operations.append(run, { type: 'run.ended', stopReason: 'SUCCESS', detail: 'all landed' });
    }
    const { stdout } = await following;
    expect(stdout.match(/all landed/g)).toHaveLength(2);
    expect(stdout).not.toContain('000000');
  });
});

describe('halo status and halo ls', () => {
  it('print a message if there are no runs', async () => {
    for (const command of ['status', 'ls'])
      expect(await halo([command])).toEqual({
        code: 0,
        stdout: '',
        stderr: 'No runs yet. Start one with `halo run prd.json`.\n',
      });
    expect((await halo(['ls', '--json'])).stdout).toBe('[]\n');
  });

  it('show runs in a table', async () => {
    operations.addRun(succeeded('r1'));
    operations.addRun([created('r2', 3), { type: 'run.started' }, ...attempted('US-001')]);
    const [heading, first, second] = (await halo(['ls'])).stdout.split('\n');
    expect(heading).toMatch(/^RUN {2}STATE {13}STORIES {2}TIME/);
    expect(first).toMatch(/^r2 {3}running {11}0\/3/);
    expect(second).toMatch(/^r1 {3}done, not landed {2}1\/1 {6}12\.0s/);
  });

  it('show one run story by story, with the next step', async () => {
    operations.addRun(succeeded('r1'));
    const { stdout } = await halo(['status', 'r1']);
    expect(stdout).toMatch(/^state +done, not landed {2}1 of 1 stories passed$/m);
    expect(stdout).toMatch(/^commits +0123456\.\.abcdef0 on halo\/r1$/m);
    expect(stdout).toMatch(/^US-001 +passed +1 +12\.0s +abcdef0 +Story number 1$/m);
    expect(stdout).toMatch(/^halo land r1 +fast-forward main to it$/m);
    expect(JSON.parse((await halo(['status', 'r1', '--json'])).stdout)).toMatchObject({ dir: '/halo/runs/r1' });
  });
});

describe('the state of a run in halo ls and halo status', () => {
  const by = 'ann@desk';
  const paused: JournalEntry = { type: 'run.paused', by, now: false };
  const stateOf = async (...entries: JournalEntry[]) => {
    operations.addRun([created('r1', 2), { type: 'run.started' }, ...entries]);
    const [listed, page] = [await halo(['ls']), await halo(['status', 'r1'])];
    const state = /^state +(.+)$/m.exec(page.stdout)?.[1] ?? '';
    const cell = /^r1 +(\S.*?) {2}/m.exec(listed.stdout)?.[1] ?? '';
    expect(state.startsWith(cell)).toBe(true);
    return { cell, state, page: page.stdout };
  };

  it('waiting while it has begun and no story is running', async () => {
    operations.addRun([created('r1', 2), { type: 'run.started' }, ...passed('US-001')]);
    expect((await halo(['ls'])).stdout).toMatch(/r1 .*waiting/);
    for (const event of attempted('US-002')) operations.append('r1', event);
    expect((await halo(['ls'])).stdout).toMatch(/r1 .*running/);
  });

  it('pausing while a story is running, then paused', async () => {
    const { cell, page } = await stateOf(...attempted('US-001'), paused);
    expect(cell).toBe('pausing');
    expect(page).toMatch(/^halo resume r1 +continue it$/m);
    expect((await stateOf(...passed('US-001'), paused)).cell).toBe('paused');
    const stopped: JournalEntry = { type: 'story.stopped', story: 'US-001', attempt: 1, usage: NO_USAGE };
    const interrupted = await stateOf(...attempted('US-001'), { ...paused, now: true }, stopped);
    expect(interrupted.cell).toBe('paused');
    expect(interrupted.page).toMatch(/^US-001 +interrupted until it is resumed +1 /m);
  });

  it('blocked or waiting, with the run that it needs, until it ends', async () => {
    const needing = { ...created('r1', 1), after: ['r0'] } as JournalEntry;
    const failed: JournalEntry = { type: 'need.changed', run: 'r0', now: 'failed', stopReason: 'GATE_FAILED' };
    const waiting = await stateOf(needing);
    expect(waiting.state).toBe('waiting');
    expect(waiting.page).toMatch(/^waiting +run r0 has not ended$/m);
    const blocked = await stateOf(needing, failed);
    expect(blocked.state).toBe('blocked');
    expect(blocked.page).toMatch(/^waiting +run r0 ended with GATE_FAILED$/m);
    expect(blocked.page).toMatch(/^halo retry r0 +retry the run that it is waiting for$/m);
    const cancelled: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by me' };
    expect(await stateOf(needing, failed, cancelled)).toMatchObject({
      cell: 'cancelled',
      state: 'cancelled  cancelled by me',
    });
  });

  it('rejected, and landing is no longer suggested', async () => {
    const end: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 2 stories passed' };
    const no: JournalEntry = { type: 'run.rejected', by, tip: COMMIT, reason: 'too slow' };
    const { cell, page } = await stateOf(...passed('US-001'), end, no);
    expect(cell).toBe('rejected');
    expect(page).toMatch(/^decided +rejected by ann@desk: too slow$/m);
    expect(page).not.toContain('halo land');
    expect(page).toMatch(/^halo approve r1 +approve it after all$/m);
  });

  it('landed until something newer exists', async () => {
    const end: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };
    const landed: JournalEntry = { type: 'run.landed', branch: 'main', from: BASE, to: COMMIT };
    const first = [...passed('US-001'), end, landed];
    expect((await stateOf(...first)).cell).toBe('landed');
    const more = await stateOf(...first, { type: 'run.retried', by, stories: [] }, ...passed('US-002'), end);
    expect(more.cell).toBe('done, not landed');
    expect(more.page).not.toContain('landed on main');
    expect(more.page).toMatch(/^halo land r1 /m);
  });

  it('waiting for a long pause of the model says for how long, also with --json and in logs', async () => {
    const [story, notBefore] = ['US-001', '2130-01-01T00:00:00.000Z'];
    const why = 'The model provider allows no request to the model "m" yet; all workers wait.';
    const held: JournalEntry = {
      type: 'story.postponed',
      story,
      attempt: 1,
      model: 'm',
      by: 'provider',
      why,
      notBefore,
    };
    const paused: JournalEntry = {
      type: 'model.paused',
      story,
      attempt: 1,
      model: 'm',
      why: 'provider',
      until: notBefore,
    };
    const { page } = await stateOf(...attempted(story), paused, held);
    expect(page).toMatch(/^state +waiting$/m);
    expect(page).toMatch(/^US-001 +waiting for \d+d \d\dh +1 /m);
    expect(page).toMatch(/^waiting +US-001: for \d+d \d\dh: The model provider allows/m);
    expect(page.match(/all workers wait/g)).toHaveLength(1);
    expect(page).not.toContain('requests for m');
    const { state } = JSON.parse((await halo(['status', 'r1', '--json'])).stdout) as { state: RunState };
    expect(state.stories[0]).toMatchObject({
      progress: 'in_progress',
      attempts: 1,
      waiting: { notBefore, why, model: 'm' },
    });
    expect((await halo(['logs', 'r1'])).stdout).toMatch(/US-001 +waiting +\d+d \d\dh: The/);
  });

  it('names what a story needs, without repetition', async () => {
    const run = created('r1', 2);
    if (run.type !== 'run.created') throw new Error('unexpected');
    Object.assign(run.prd, { project: '' });
    Object.assign(run.prd.stories[1] ?? {}, { dependsOn: ['US-001'] });
    const notBefore = '2130-01-01T00:00:00Z';
    const wait = { class: 'gate', rule: 'hint', nth: 1, of: 2, notBefore, why: 'the gate is red' } as const;
    const retry: JournalEntry = { type: 'retry.scheduled', story: 'US-001', attempt: 1, ...wait };
    const { page } = await stateOf(run, { type: 'run.started' }, ...failed('US-001'), retry);
    expect(page).toMatch(/^US-002 +waiting for US-001 +- +- +- +Story number 2$/m);
    expect(page.match(/the gate is red/g)).toHaveLength(1);
    expect(page).toMatch(/^state +waiting$/m);
    expect(page).toMatch(/^US-001 +retrying in \S+ \S+ +1 /m);
    expect(page).toMatch(/^waiting +US-001: attempt 2 of 3 in .*: the gate is red$/m);
    expect(page).not.toMatch(/^(project|commits) /m);
  });
});

it('halo status shows a snapshot that is being made or cannot be made, in one line, and nothing about one in use', async () => {
  const snapshotLine = async (run: string, ...events: JournalEntry[]) => {
    operations.addRun([created(run, 1), { type: 'run.started' }, ...attempted('US-001'), { type: 'phase.started', story: 'US-001', attempt: 1, phase: 'setup' }, ...events]); // prettier-ignore
    return (await halo(['status', run])).stdout.split('\n').filter((line) => line.startsWith('snapshot'));
  };
  const at = { story: 'US-001', attempt: 1, phase: 'setup' } as const;
  const started = { type: 'snapshot.started', ...at } as const;
  const refused = { type: 'snapshot.refused', ...at, reason: 'setup changes\u001b a.txt' } as const;
  const used = { type: 'snapshot.used', ...at, key: 'a', digest: 'b', mode: 'copy' } as const;
  expect(await snapshotLine('r1', started)).toEqual(['snapshot setup of US-001 makes one']);
  expect(await snapshotLine('r2', started, refused)).toEqual(['snapshot none, setup runs for each workspace: setup changes<U+001B> a.txt']); // prettier-ignore
  expect(await snapshotLine('r3', started, { ...used, made: true })).toEqual([]);
  // The worker has died in between.
  expect(await snapshotLine('r4', started, { type: 'phase.started', ...at, phase: 'prepare' })).toEqual([]);
});

it('halo status names the passed stories that the PRD file does not mark as done', async () => {
  operations.addRun([
    ...succeeded('r1'),
    { type: 'marks.failed', stories: ['US-001'], reason: 'the file is no longer there' },
  ]);
  const { stdout } = await halo(['status', 'r1']);
  expect(stdout).toMatch(
    /^unmarked +US-001 passed, but the PRD file could not be marked: the file is no longer there\. Mark them by hand/m,
  );
});

it('halo status shows the questions of all stories with their options, and that of the end once', async () => {
  const questions = ['US-001', 'US-002'].flatMap((story) =>
    asked(story, `Which one of ${story}?`).map((entry) =>
      entry.type === 'story.ended' ? { ...entry, question: { options: ['Euro', 'Dollar'] } } : entry,
    ),
  );
  operations.addRun([created('r1', 2), { type: 'run.started' }, ...questions]);
  const { stdout } = await halo(['status', 'r1']);
  const lines = stdout.split('\n').filter((line) => /Which one|Euro|Dollar/.test(line));
  expect(lines.map((line) => line.replace(/\s+/g, ' '))).toEqual([
    'state needs a human US-002: Which one of US-002?',
    'asks US-001: Which one of US-001?',
    ' US-001: 1. Euro',
    ' US-001: 2. Dollar',
    ' US-002: 1. Euro',
    ' US-002: 2. Dollar',
  ]);
});

it('halo status shows no running story and no running clock for an ended run', async () => {
  const why = { stopReason: 'MISSING_DEPENDENCY', summary: 'no key' } as const;
  operations.addRun([
    created('r1', 1),
    { type: 'run.started' },
    ...attempted('US-001'),
    { type: 'story.disturbed', story: 'US-001', attempt: 1, class: 'environment', ...why },
    { type: 'run.ended', stopReason: 'MISSING_DEPENDENCY', detail: 'US-001: no key', story: 'US-001' },
  ]);
  const { stdout } = await halo(['status', 'r1']);
  expect(stdout).toMatch(/^US-001 +interrupted +1 +12\.0s +- +Story number 1$/m);
});

it('halo status names the removed tests', async () => {
  const entry = { type: 'tests.compared', story: 'US-001', attempt: 1, before: 3, after: 2 } as const;
  operations.addRun([
    created('r1', 1),
    ...attempted('US-001'),
    { ...entry, removed: ['adds'], skipped: [], emptied: [] },
  ]);
  const { stdout } = await halo(['status', 'r1']);
  expect(stdout).toContain('tests    US-001: 3 before, 2 after; removed: adds\n');
});

describe('halo network', () => {
  beforeEach(() => {
    const of = { type: 'network.asked', story: 'US-001', attempt: 1, phase: 'setup' } as const;
    const tunnel = { ...of, route: 'tunnel', method: 'CONNECT', bytes: 0, count: 1 } as const;
    const refused = { outcome: 'refused', status: 403 } as const;
    const unlisted = (target: string) => ({
      ...{ target, unlisted: true as const },
      reason: `network: ${target} refused; add it to [network] allow`,
    });
    const npm = { ...of, route: 'registry', method: 'GET', target: 'npm:is-number', outcome: 'served' } as const;
    operations.addRun([
      created('r1', 2),
      { ...npm, status: 200, bytes: 2048, count: 2 },
      { ...npm, status: 200, bytes: 1024, count: 1 },
      { ...tunnel, ...refused, ...unlisted('files.example.com:443') },
      { ...tunnel, ...refused, ...unlisted('pypi.org:443') },
      { ...tunnel, ...refused, target: 'a\u001b]0;x:443', reason: 'network: "a" refused; it is not a plain host:port' },
      { ...tunnel, story: 'US-002', outcome: 'served', status: 200, target: 'git.example.com:443' },
      { ...npm, phase: 'agent', target: 'crates:serde', status: 200, bytes: 1, count: 1 },
      { ...npm, phase: 'gates', status: 200, bytes: 1024, count: 1 },
    ]);
  });

  it('lists each request once, and proposes the minimal settings', async () => {
    const { stdout } = await halo(['network', 'r1']);
    expect(stdout).toMatch(/^US-001 +1 +setup +served +3 +3k +registry +GET npm:is-number$/m);
    expect(stdout).toMatch(/^US-001 +1 +gates +served +1 +1k +registry +GET npm:is-number$/m);
    expect(stdout).toMatch(/^US-001 +1 +setup +refused +1 +- +tunnel +CONNECT files\.example\.com:443$/m);
    expect(stdout).toContain('network: files.example.com:443 refused; add it to [network] allow');
    expect(stdout).not.toContain('\u001b');
    const [, proposal] = stdout.split('[network]\n');
    expect(proposal).not.toContain('a:443');
    expect(stdout.trimEnd().split('\n').slice(-4)).toEqual([
      '[network]',
      'allow = ["files.example.com:443", "git.example.com:443"]',
      'registries = ["npm", "pypi"]',
      'agent_registries = ["crates"]',
    ]);
  });

  it('prints the same as JSON, also for one story', async () => {
    const { stdout } = await halo(['network', 'r1', '--story', 'US-002', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ story: 'US-002', target: 'git.example.com:443', outcome: 'served', count: 1 }],
      proposal: { allow: ['git.example.com:443'], registries: [], agentRegistries: [] },
    });
  });

  it('reports that there were no network requests', async () => {
    operations.addRun([created('r2', 1)]);
    expect((await halo(['network', 'r2'])).stderr).toContain('no network requests');
  });
});

describe('halo diff and halo land', () => {
  it('print the diff unchanged into a pipe', async () => {
    operations.addRun(succeeded('r1'));
    expect((await halo(['diff', 'r1'])).stdout).toBe((await operations.readDiff({ runId: 'r1' })).toString());
  });

  it('show and label the work of attempts at a story that has not passed', async () => {
    operations.addRun([created('r1', 2), ...failed('US-001', 1), ...failed('US-001', 2)]);
    const patch = (n: number) =>
      `diff --git a/x.js b/x.js\n--- a/x.js\n+++ b/x.js\n@@ -1 +1,2 @@\n old\n+attempt ${n}\n`;
    for (const n of [1, 2]) operations.addArtifact('r1', `${storyKey('US-001')}/${n}/diff.patch`, patch(n));
    expect(await halo(['diff', 'r1', '--story', 'US-001'])).toEqual({
      code: 0,
      stdout: patch(2),
      stderr: 'not passed: attempt 2 of 2, GATE_FAILED\n',
    });
    const first = await halo(['diff', 'r1', '--attempt', '1']);
    expect(first).toMatchObject({ stdout: patch(1), stderr: 'not passed: attempt 1 of 2\n' });
    const stat = await halo(['diff', 'r1', '--story', 'US-001', '--stat']);
    expect(stat.stdout).toBe(' x.js | 1 +\n 1 file changed, 1 insertion(+)\n');
    expect((await halo(['diff', 'r1', '--story', 'US-001', '--name-only'])).stdout).toBe('x.js\n');
    const none = await halo(['diff', 'r1', '--story', 'US-002']);
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Story US-002 of run r1 has had no attempt yet') as string,
    });
  });

  it('names the attempt to look at if nothing has landed, and does not say that nothing was changed', async () => {
    operations.addRun([created('r1', 1), ...failed('US-001')]);
    const empty = { ...operations, readDiff: () => Promise.resolve(Buffer.alloc(0)) };
    expect(await halo(['diff', 'r1'], { operations: empty })).toMatchObject({
      code: 0,
      stderr: 'nothing passed; changes of US-001: halo diff r1 --story US-001\n',
    });
  });

  it('names the attempt in a command that a shell takes, also for the id of an issue', async () => {
    const run = created('r1', 1);
    const stories = run.prd.stories.map((story) => ({ ...story, id: '#50' }));
    operations.addRun([{ ...run, prd: { ...run.prd, stories } }, ...failed('#50')]);
    const empty = { ...operations, readDiff: () => Promise.resolve(Buffer.alloc(0)) };
    const { stderr } = await halo(['diff', 'r1'], { operations: empty });
    expect(stderr).toBe("nothing passed; changes of #50: halo diff r1 --story '#50'\n");
  });

  it('show the change of each story below a heading', async () => {
    operations.addRun([created('r1', 2), ...passed('US-001'), ...passed('US-002')]);
    const { stdout } = await halo(['diff', 'r1', '--by-story', '--name-only']);
    expect(stdout).toBe('── US-001  Story number 1  abcdef0 ──\nx\n── US-002  Story number 2  abcdef0 ──\nx\n');
  });

  it('use the pager at a terminal, with escaped output and the warnings at the end', async () => {
    operations.addRun([created('r1', 1), ...failed('US-001')]);
    const evil = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+\u001b]0;title\u0007\n';
    operations.addArtifact('r1', `${storyKey('US-001')}/1/diff.patch`, evil);
    const pages: string[] = [];
    const openPager = () =>
      Promise.resolve({
        input: new Writable({ write: (chunk: Buffer, _encoding, done) => done(void pages.push(chunk.toString())) }),
        close: () => Promise.resolve(void pages.push('[left]')),
      });
    const shown = { terminal: { shown: true }, services: { openPager } };
    const result = await halo(['diff', 'r1', '--story', 'US-001'], shown);
    expect(pages.join('')).toContain('+<U+001B>]0;title<U+0007>\n[left]');
    expect(result.stdout).toBe('');
    expect(result.stderr).toContain('warning: 2 hidden characters');
    pages.length = 0;
    await halo(['diff', 'r1', '--story', 'US-001'], { services: { openPager } });
    await halo(['logs', 'r1', '-f', '--json'], { ...shown, onReady: (press) => setTimeout(press) });
    expect(pages).toEqual([]);
  });

  it('prints what halo land moved, or why it refused', async () => {
    operations.addRun(succeeded('r1'));
    expect((await halo(['land', 'r1'])).stdout).toBe('landed  main  0123456..abcdef0\n');
    operations.addRun([created('r2', 1)]);
    const hint = 'Read its logs.';
    operations.answerNext('land', new HaloError('LAND_REFUSED', 'Run r2 landed nothing.', { hint }));
    expect(await halo(['land', 'r2'])).toEqual({
      code: 6,
      stdout: '',
      stderr: 'error[LAND_REFUSED]: Run r2 landed nothing.\nhint:  Read its logs.\n',
    });
  });
});

describe('findings that a reviewer may overlook', () => {
  const ref = { story: 'US-001', attempt: 1 };
  const token: JournalEntry = {
    type: 'secrets.suspected',
    ...ref,
    suspects: [{ path: 'k.txt', names: ['a GitHub token'] }],
  };
  const fewer: JournalEntry = {
    type: 'tests.compared',
    ...ref,
    ...{ before: 4, after: 3, removed: ['adds'], skipped: [], emptied: [] },
  };

  it('are in halo status, and precede the question of halo land at a terminal', async () => {
    const [first, started, ...rest] = succeeded('r1');
    operations.addRun([first!, started!, ...rest.slice(0, 1), token, fewer, ...rest.slice(1)]);
    const { stdout } = await halo(['status', 'r1']);
    expect(stdout).toContain('secret   US-001: k.txt adds a GitHub token\n');
    expect(stdout).toContain('tests    US-001: 4 before, 3 after; removed: adds\n');
    const warnings =
      'warning: US-001: k.txt adds a GitHub token\nwarning: tests of US-001: 4 before, 3 after; removed: adds\n';
    const reported = expect.stringContaining(warnings) as string;
    const asked: string[] = [];
    const person = (answer: string): Partial<CliOptions> => ({
      ask: (question) => {
        asked.push(question);
        return Promise.resolve(answer);
      },
    });
    const refused = await halo(['land', 'r1'], person('no'));
    expect(refused).toMatchObject({ code: 6, stderr: expect.stringContaining('Nothing was landed.') as string });
    expect(refused.stderr).toContain(warnings);
    expect(await halo(['land', 'r1'], person('y'))).toMatchObject({ code: 0, stderr: reported });
    expect(asked).toHaveLength(2);
    expect((await halo(['land', 'r1', '--confirm', 'secret,tests'], person('no'))).code).toBe(0);
    const flags = expect.stringContaining('--confirm secret,tests') as string;
    for (const given of [[], ['--confirm', 'secret'], ['--confirm', 'hidden'], ['--json']])
      expect(await halo(['land', 'r1', ...given])).toMatchObject({ code: 6, stderr: flags });
    expect(await halo(['land', 'r1', '--confirm', 'all'])).toMatchObject({ code: 2 });
    expect(await halo(['land', 'r1', '--confirm', 'secret,tests'])).toMatchObject({ code: 0, stderr: reported });
    expect(asked).toHaveLength(2);
  });

  it('name what is wrong with tests that were written first, also in halo show and in JSON', async () => {
    const judged: JournalEntry = { type: 'tests.judged', ...ref, step: 'red', why: 'only skipped tests' };
    const [first, started, ...rest] = succeeded('r1');
    operations.addRun([first!, started!, ...rest.slice(0, 1), judged, ...rest.slice(1)]);
    const text = 'tests first, before the change: only skipped tests';
    expect((await halo(['status', 'r1'])).stdout).toContain(`unproven US-001: ${text}\n`);
    expect((await halo(['show', 'r1'])).stdout).toContain(`! unproven: ${text}\n`);
    expect((await halo(['show', 'r1', '--json'])).stdout).toContain(text);
    expect((await halo(['status', 'r1', '--json'])).stdout).toContain('"why":"only skipped tests"');
  });

  it('name failed tests in halo status and halo show, until the next attempt', async () => {
    const failing = [created('r1', 1), ...failedWithTests('US-001')];
    operations.addRun(failing);
    const tests = '✗ test 1  test/page.test.js:3\n';
    const { stdout } = await halo(['status', 'r1']);
    expect(stdout).toContain(
      `tests    US-001: 7 tests of \`npm test\` failed\n         ${tests}           is 1<U+202E>\n`,
    );
    expect(stdout).toContain('         … and 2 more\n');
    expect((await halo(['show', 'r1'])).stdout).toContain(`    ${tests}      is 1<U+202E>\n      not 0\n`);
    for (const command of ['status', 'show'])
      expect((await halo([command, 'r1', '--json'])).stdout).toContain('"failedTests"');
    operations.addRun([created('r2', 1), ...failedWithTests('US-001'), ...attempted('US-001', 2)]);
    operations.addRun([created('r3', 1), ...failedWithTests('US-001'), ...passed('US-001')]);
    for (const run of ['r2', 'r3']) expect((await halo(['status', run])).stdout).not.toContain('✗');
  });

  it('are shown before an approval, and removed by the next attempt', async () => {
    const [first, started, ...rest] = held('US-001');
    operations.addRun([created('r1', 1), first!, started!, token, ...rest]);
    const { stderr } = await halo(['approve', 'r1', '--story', 'US-001']);
    expect(stderr).toMatch(/(?:^|\n)warning: US-001: k.txt adds a GitHub token\n/);
    operations.addRun([
      created('r2', 1),
      token,
      { type: 'phase.started', ...ref, phase: 'import' },
      ...passed('US-001'),
    ]);
    expect((await halo(['status', 'r2'])).stdout).not.toContain('k.txt');
  });
});

describe('halo replay', () => {
  beforeEach(() => operations.addRun(succeeded('r1')));

  it('reports how the replay ended, also by the exit code', async () => {
    const same = await halo(['replay', 'r1', '--story', 'US-001']);
    expect(same).toMatchObject({ code: 0 });
    expect(same.stdout).toMatch(
      /^US-001 {2}attempt 1\n.*\n✓ +ending +SUCCESS +SUCCESS\nAll requests match the recording/,
    );
    const other = await halo(['replay', 'r1', '--story', 'US-001', '--attempt', '2', '--json']);
    expect(other.code).toBe(10);
    expect(JSON.parse(other.stdout)).toMatchObject({ attempt: 2, checks: [{ what: 'ending', ok: false }] });
  });

  it('requires a story that exists', async () => {
    expect((await halo(['replay', 'r1'])).code).toBe(2);
    expect((await halo(['replay', 'r1', '--story', 'nope'])).code).toBe(2);
    expect((await halo(['replay', 'r1', '--story', 'US-001', '--attempt', 'x'])).code).toBe(2);
  });
});

describe('halo approve and halo reject', () => {
  beforeEach(() => operations.addRun([created('r1', 2), { type: 'run.started' }, ...held('US-001')]));

  it('are suggested by status while a story waits', async () => {
    const { stdout } = await halo(['status', 'r1']);
    expect(stdout).toContain('waiting  US-001: for approval of abcdef0, which changes protected paths:');
    expect(stdout).toContain('         .github/workflows/ci.yml\n');
    expect(stdout).toMatch(/^halo diff r1 --story US-001 +look at what is waiting for you$/m);
    expect(stdout).toMatch(/^halo approve r1 --story US-001 +land it and continue the run$/m);
  });

  it('land or reject the commit', async () => {
    const approve = ['approve', 'r1', '--story', 'US-001'];
    const refusal = expect.stringContaining(`halo ${approve.join(' ')} --confirm protected`) as string;
    for (const given of [[], ['--confirm', 'secret'], ['--json']])
      expect(await halo([...approve, ...given])).toMatchObject({ code: 6, stderr: refusal });
    expect(await halo([...approve, '--confirm', 'protected'])).toMatchObject({
      code: 0,
      stdout: 'approved  US-001  abcdef0\n',
      stderr:
        'US-001  Story number 1: no criteria\n  ! It adds no test.\nwarning: US-001: changes protected paths: .github/workflows/ci.yml\nThe run continues as soon as a worker is free: halo logs r1 -f\nno worker is running: start one with `halo worker`, or continue here: `halo run --resume r1`\n',
    });
    operations.addRun([created('r2', 1), { type: 'run.started' }, ...held('US-001')]);
    const rejected = await halo(['reject', 'r2', '--story', 'US-001', '--reason', 'no', '--json']);
    expect(JSON.parse(rejected.stdout)).toMatchObject({
      story: 'US-001',
      commit: COMMIT,
      landed: false,
      goesOn: false,
    });
  });

  it('prints the reason of a refusal and exits with 6', async () => {
    const refusal = new HaloError('LAND_REFUSED', 'Story US-002 is not waiting for approval.');
    operations.answerNext('approve', refusal);
    const stderr = expect.stringContaining('error[LAND_REFUSED]: Story US-002 is not waiting') as string;
    expect(await halo(['approve', 'r1', '--story', 'US-002'])).toMatchObject({ code: 6, stdout: '', stderr });
    operations.answerNext('reject', refusal);
    expect((await halo(['reject', 'r1'])).code).toBe(6);
  });

  it('apply to the whole result of an ended run without a story', async () => {
    operations.addRun(succeeded('r2'));
    expect(await halo(['approve', 'r2'])).toMatchObject({
      code: 0,
      stdout: `approved  r2  up to ${COMMIT.slice(0, 7)}\n`,
      stderr: 'US-001  Story number 1: no criteria\n  ! It adds no test.\nNext: halo land r2\n',
    });
    operations.answerNext('approve', { runId: 'r2', changed: false, tip: COMMIT });
    expect((await halo(['approve', 'r2'])).stdout).toBe(`as before  r2  up to ${COMMIT.slice(0, 7)}\n`);
    expect(await halo(['reject', 'r2', '--reason', 'no'])).toMatchObject({
      stdout: `rejected  r2  up to ${COMMIT.slice(0, 7)}\n`,
    });
    operations.answerNext('reject', { runId: 'r2', changed: false, tip: COMMIT });
    expect((await halo(['reject', 'r2'])).stdout).toBe(`as before  r2  up to ${COMMIT.slice(0, 7)}\n`);
    expect((await operations.getRun({ runId: 'r2' })).state.decision).toMatchObject({
      verdict: 'rejected',
      reason: 'no',
    });
  });
});

describe('halo answer', () => {
  beforeEach(() => operations.addRun([created('r1', 1), { type: 'run.started' }, ...asked('US-001')]));

  it('passes the answer on, and reports how the run continues', async () => {
    expect(await halo(['answer', 'r1', '--story', 'US-001', 'Use 8080.'])).toMatchObject({
      code: 0,
      stdout: 'answered  r1  Done.\n',
      stderr: expect.stringContaining('no worker is running') as string,
    });
    expect((await operations.getRun({ runId: 'r1' })).state.stories[0]!.answered).toMatchObject([
      { text: 'Use 8080.' },
    ]);
  });

  it('needs a text', async () => {
    expect((await halo(['answer', 'r1', '--story', 'US-001'])).code).toBe(2);
  });

  it('says who has answered already', async () => {
    const refusal = new HaloError('CONTROL_REFUSED', 'Story US-001 was already answered by ann@desk.');
    operations.answerNext('answer', refusal);
    expect(await halo(['answer', 'r1', '--story', 'US-001', 'x'])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('already answered by ann@desk') as string,
    });
  });
});

describe('halo answer without --story', () => {
  const answerOf = (...stories: string[]) => {
    const questions = stories.flatMap((story) => asked(story).filter(({ type }) => type !== 'run.ended'));
    operations.addRun([created('r1', 2), { type: 'run.started' }, ...questions]);
    return halo(['answer', 'r1', 'Use 8080.']);
  };

  it('answers the only story that asks', async () => {
    expect(await answerOf('US-002')).toMatchObject({ code: 0, stdout: 'answered  r1  Done.\n' });
  });

  it('names the stories if several ask', async () => {
    const { code, stderr } = await answerOf('US-001', 'US-002');
    expect(code).toBe(2);
    expect(stderr).toContain('Several stories ask a question: US-001, US-002.');
  });

  it('is refused if no story asks', async () => {
    const { code, stderr } = await answerOf();
    expect(code).toBe(6);
    expect(stderr).toContain('No story of run r1 asks a question.');
  });
});

describe('halo pause, resume, cancel and retry', () => {
  beforeEach(() => operations.addRun([created('r1', 2), { type: 'run.started' }]));

  it.each([
    ['pause', [], 'paused  r1  Done.\n', 'run.paused'],
    ['pause', ['--now'], 'paused  r1  Done.\n', 'run.paused'],
    ['resume', [], 'resumed  r1  Done.\n', 'run.resumed'],
    ['cancel', [], 'cancelled  r1  Done.\n', 'run.ended'],
    ['cancel', ['--story', 'US-002'], 'cancelled  r1  Done.\n', 'story.cancelled'],
    ['retry', ['--story', 'US-001'], 'retried  r1  Done.\n', 'run.retried'],
  ])('report what they did: %s %j', async (command, more, stdout, type) => {
    expect(await halo([command, 'r1', ...more])).toMatchObject({ code: 0, stdout });
    const types = [];
    for await (const { event } of await operations.followEvents({ runId: 'r1', after: 0, follow: false }))
      types.push(event.type);
    expect(types.at(-1)).toBe(type);
  });

  it('report how a run without a worker continues, and nothing for a paused one', async () => {
    operations.addRun([
      created('r2', 1),
      { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story: 'US-001' },
    ]);
    expect((await halo(['retry', 'r2'])).stderr).toBe(
      'no worker is running: start one with `halo worker`, or continue here: `halo run --resume r2`\n',
    );
    expect((await halo(['pause', 'r1'])).stderr).toBe('');
  });

  it('a reset of the breaker of a run reports that no worker continues it', async () => {
    operations.append('r1', { type: 'breaker.opened', reason: 'x' });
    const { stdout, stderr } = await halo(['breaker', 'reset', 'run:r1']);
    expect(stdout).toBe('closed  run:r1\n');
    expect(stderr).toContain('no worker is running');
  });

  it('send other settings with retry, but gates and image only after a confirmation', async () => {
    const ended: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story: 'US-001' };
    operations.addRun([created('r1', 1), ...failed('US-001'), ended]);
    const set = ['limits.wall=90m', 'budget.story_usd=5'];
    expect((await halo(['retry', 'r1', '-c', set[0]!, '-c', set[1]!])).code).toBe(0);
    expect(operations.amended).toEqual([{ set }]);
    const gates = ['retry', 'r1', '-c', 'gates=["true"]'];
    const refused = await halo(gates);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Confirm the change with --yes.') as string,
    });
    expect((await halo(gates, { ask: () => Promise.resolve('no') })).code).toBe(2);
    expect((await halo(gates, { ask: () => Promise.resolve('y') })).code).toBe(0);
    expect((await halo([...gates, '--yes'])).code).toBe(0);
    expect(operations.amended.slice(1)).toEqual(Array(2).fill({ set: ['gates=["true"]'], yes: true }));
    const unknown = await halo(['retry', 'r1', '-c', 'foo=1']);
    expect(unknown.stderr).toMatch(/-c: foo: unknown key[^]*hint: {2}Change only keys of \[limits\]/);
    const fixed = await halo(['retry', 'r1', '-c', 'agent=claude']);
    expect(fixed).toMatchObject({ code: 6, stderr: expect.stringContaining('cannot be changed: agent.') as string });
  });

  it('shows which user changed the settings of a run, and names the limit that a story reached', async () => {
    const [first, ...rest] = failed('US-001').reverse();
    const summary =
      "The next request may cost up to $0.23, more than what is left of this story's budget ($0.05 of $0.05); raise budget.story_usd to continue.";
    const failure = { class: 'budget', rule: 'halt', limit: 'budget.story_usd', sign: {} };
    const over = { ...first, stopReason: 'BUDGET_EXCEEDED', summary, failure } as unknown as JournalEntry;
    const change: JournalEntry = {
      type: 'run.reconfigured',
      by: 'ann@desk',
      set: ['limits.wall=90m'],
      change: {},
    };
    operations.addRun([
      created('r1', 1),
      change,
      ...rest.reverse(),
      over,
      { type: 'run.ended', stopReason: 'BUDGET_EXCEEDED', detail: '', story: 'US-001' },
    ]);
    const { stdout } = await halo(['status', 'r1']);
    expect(stdout).toContain('settings limits.wall=90m (by ann@desk, ');
    expect(stdout).toContain('halo retry r1 -c budget.story_usd=…');
    expect((await halo(['logs', 'r1'])).stdout).toContain('RECONFIGURED  by ann@desk: limits.wall=90m');
  });

  it('report that nothing changed, and a story that does not exist', async () => {
    const unchanged = { runId: 'r1', changed: false, stories: [], says: 'It was cancelled before.' };
    operations.answerNext('cancel', unchanged);
    expect((await halo(['cancel', 'r1'])).stdout).toBe('as before  r1  It was cancelled before.\n');
    operations.answerNext('pause', unchanged);
    expect(JSON.parse((await halo(['pause', 'r1', '--json'])).stdout)).toMatchObject({ changed: false });
    expect((await halo(['cancel', 'r1', '--story', 'X'])).code).toBe(2);
  });

  it('send another PRD with resume --replan', async () => {
    expect((await halo(['resume', 'r1', '--replan', 'prd.json'])).code).toBe(0);
    expect(operations.replanned.map(({ path }) => path)).toEqual([join(folder, 'prd.json')]);
    expect((await halo(['resume', 'r1', '--replan', 'no.json'])).code).toBe(6);
  });
});

describe('halo doctor', () => {
  const findings = [
    { name: 'git', ok: 'ok', says: '2.39.5' },
    { name: 'docker', ok: 'fail', says: 'nothing answers', fix: 'start it' },
  ] as const;

  it('reports how to fix what is missing, and exits with 5', async () => {
    const services = { diagnose: () => Promise.resolve([...findings]) };
    const result = await halo(['doctor'], { services });
    expect(result).toMatchObject({
      code: 5,
      stdout: '✓ git     2.39.5\n✗ docker  nothing answers\n          → start it\n',
    });
  });

  it('wraps long sentences between words, with indentation, only on a terminal', async () => {
    const fix = 'word '.repeat(30).trim();
    const services = { diagnose: () => Promise.resolve([{ name: 'git', ok: 'warn', says: 'old', fix } as const]) };
    const whole = await halo(['doctor'], { services });
    expect(whole.stdout).toBe(`! git  old\n       → ${fix}\n`);
    const shown = await halo(['doctor'], { services, terminal: { shown: true } });
    const [, first = '', second = ''] = shown.stdout.split('\n');
    expect(first.length).toBeLessThanOrEqual(100);
    expect(first).toMatch(/^ {7}→ word .*word$/);
    expect(second).toMatch(/^ {9}word/);
  });
});
