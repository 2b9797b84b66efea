import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { OK, prdOf, remotelyScripted, scripted } from '../../support/halo/halo.ts';
import { openHome, type Ended, type HaloHome, type HaloProcess } from '../../support/halo/halo-process.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { HOLD, release, releaseUntil } from '../../support/halo/hold.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { PATIENCE } from '../../support/patience.ts';

let home: HaloHome;

beforeEach(() => void (home = openHome()));
afterEach(() => home.close());

function prd(ids: string[]): string {
  const path = join(home.dir, 'prd.json');
  writeFileSync(path, prdOf(ids.map((id) => ({ id }))).bytes);
  return path;
}

function agent(script: string): string[] {
  return scripted(script).flatMap((pair) => ['-c', pair]);
}

function callHere(words: string[], env: Record<string, string | undefined> = {}): Promise<Ended> {
  return callHalo(words, { cwd: home.dir, env: { HALO_HOME: home.dir, ...env } });
}

async function halo(...words: string[]): Promise<string> {
  const end = await callHere(words);
  expect(end).toMatchObject({ code: 0 });
  return end.stdout;
}

async function startWorker(concurrency = 1): Promise<HaloProcess> {
  const worker = home.start(['worker', '--concurrency', String(concurrency)], { cwd: home.dir });
  await worker.says('running up to');
  return worker;
}

async function journal(runId: string): Promise<JournalEvent[]> {
  const lines = (await halo('logs', runId, '-f', '--json')).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as JournalEvent);
}

async function containersOf(runId: string): Promise<string[]> {
  const found = await new Docker().listContainers({ all: true, filters: { label: ['dev.halo=sandbox'] } });
  return found.flatMap(({ Names }) => Names).filter((name) => name.includes(runId));
}

describe('several repositories', () => {
  it('are executed concurrently by two workers, followed live, inspected and landed', async () => {
    const two = [newRepository(), newRepository()];
    // The first stories wait for each other.
    const script = `echo "I begin."; test -e log.txt || { ${HOLD}; }; echo x >> log.txt; ${OK}`;
    const repos = two.flatMap(({ root }) => ['--repo', root]);
    const runIds = (await halo('submit', prd(['A', 'B']), ...repos, ...agent(script))).trimEnd().split('\n');
    expect(runIds).toHaveLength(2);
    const logs = home.start(['logs', runIds[0]!, '-f'], { cwd: home.dir });
    const workers = [await startWorker(), await startWorker()];

    await logs.says('I begin.');
    expect(logs.stdout()).not.toContain('SUCCESS');
    expect(logs.process.exitCode).toBeNull();
    for (const runId of runIds)
      await vi.waitFor(
        () => expect(readJournal(home.dir, runId).map(({ type }) => type)).toContain('agent.launched'),
        PATIENCE,
      );
    for (const runId of runIds) await release(runId);
    expect(await logs.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/SUCCESS.*\n$/) as string });

    const journals: JournalEvent[][] = [];
    for (const runId of runIds) journals.push(await journal(runId));
    const spans = journals.map(
      (events) => [at(events, 'story.started'), at(events.toReversed(), 'story.ended')] as const,
    );
    const latestStart = Math.max(...spans.map(([start]) => start));
    expect(latestStart).toBeLessThan(Math.min(...spans.map(([, end]) => end)));

    expect(await halo('ls')).toMatch(/(?:^\w+ +done, not landed +2\/2 .*\n){2}/m);
    for (const [index, runId] of runIds.entries()) {
      expect(await halo('status', runId)).toContain('2 of 2 stories passed');
      expect(await halo('diff', runId)).toContain('+++ b/log.txt');
      expect(await halo('land', runId)).toMatch(/^landed {2}main/);
      expect(two[index]!.git('show', 'main:log.txt')).toBe('x\nx');
      await vi.waitFor(async () => expect(await containersOf(runId)).toEqual([]), PATIENCE);
    }
    for (const worker of workers) {
      worker.process.kill('SIGTERM');
      expect(await worker.ended).toMatchObject({ code: 0 });
    }
  });

  it('halo land pushes the branch of the run to a URL, and reports where it is if that is refused', async () => {
    const { root } = newRepository();
    const bare = join(root, '..', 'shared.git');
    execFileSync('git', ['clone', '-q', '--bare', root, bare]);
    const url = `file://${bare}`;
    const worker = await startWorker();
    const runId = (await halo('submit', prd(['A']), '--repo', url, ...agent(`echo x > x; ${OK}`))).trim();
    expect((await journal(runId)).at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
    const head = () =>
      execFileSync('git', ['-C', bare, 'log', '-1', '--format=%s', 'main'], { encoding: 'utf8' }).trim();
    expect(head()).toBe('start');
    expect(await halo('diff', runId)).toContain('+++ b/x');
    const hook = join(bare, 'hooks', 'update');
    writeFileSync(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const refused = await callHere(['land', runId]);
    expect(refused).toMatchObject({ code: 6 });
    const [, fetch = ''] = /git fetch (\S+ halo\/\w+)\./.exec(refused.stderr) ?? [];
    const copy = join(root, '..', 'copy');
    execFileSync('git', ['clone', '-q', url, copy]);
    execFileSync('git', ['-C', copy, 'fetch', '-q', ...fetch.split(' ')]);
    const reported = execFileSync('git', ['-C', copy, 'log', '-1', '--format=%s|%(trailers)', 'FETCH_HEAD'], {
      encoding: 'utf8',
    });
    expect(reported).toMatch(/^feat: \[A\] - Story A\|[^]*\nHalo-Agent: command\nRequested-by: \S+\n/);
    rmSync(hook);
    expect(await halo('land', runId)).toMatch(new RegExp(`^pushed {2}halo/${runId} `));
    expect(head()).toBe('start');
    expect(execFileSync('git', ['-C', bare, 'log', '-1', '--format=%s', `halo/${runId}`]).toString()).toContain('[A]');
    worker.process.kill('SIGTERM');
    await worker.ended;
  });
});

describe('stopping in the middle of a story', () => {
  // Also in test/e2e/control/drain.flow.test.ts, with workers one after the other.
  it(
    'passes the story of a stopping worker to the other worker, as the same attempt',
    skipFor(belowFull()),
    async () => {
      const repository = newRepository();
      const first = await startWorker();
      const script = `echo "I begin."; ${HOLD}; echo x >> log.txt; ${OK}`;
      const runId = (await halo('submit', prd(['A']), '--repo', repository.root, ...agent(script))).trim();
      const logs = home.start(['logs', runId, '-f'], { cwd: home.dir });
      await logs.says('I begin.');
      const second = await startWorker();
      first.process.kill('SIGTERM');
      expect(await first.ended).toMatchObject({ code: 0 });
      await releaseUntil(
        () => [runId],
        () => expect(logs.stdout()).toContain('SUCCESS'),
      );
      expect(await logs.ended).toMatchObject({ code: 0 });
      const events = await journal(runId);
      expect(events.at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
      expect(events.filter(({ type }) => type === 'story.ended')).toMatchObject([{ attempt: 1, verdict: 'passed' }]);
      expect(repository.git('log', '--format=%s', `main..halo/${runId}`)).toBe('feat: [A] - Story A');
      second.process.kill('SIGTERM');
      await second.ended;
      expect(await containersOf(runId)).toEqual([]);
    },
  );

  it.each(casesAtLevel(['SIGTERM'] as const, ['SIGINT'] as const))(
    'ends halo run with USER_ABORT on %s, and lands nothing',
    async (signal) => {
      const repository = newRepository();
      const words = [
        'run',
        prd(['A', 'B']),
        '--repo',
        repository.root,
        ...agent(`echo "I begin."; sleep 30; echo x > x; ${OK}`),
      ];
      const run = home.start(words, { cwd: home.dir });
      await run.says('I begin.');
      run.process.kill(signal);
      const end = await run.ended;
      expect(end).toMatchObject({ code: 130, stdout: expect.stringContaining('USER_ABORT') as string });
      const runId = end.stdout.trimEnd().split('/').at(-1)!;
      expect(await halo('status', runId)).toMatch(/^state +cancelled/m);
      expect(repository.git('branch', '--list', 'halo/*')).toBe('');
      await vi.waitFor(async () => expect(await containersOf(runId)).toEqual([]), PATIENCE);
    },
  );
});

it('halo up serves Redis, API and workers to commands that only know its address and token', async () => {
  const repository = newRepository();
  const up = home.start(['up', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await up.says('token');
  const said = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(up.stdout())?.[1];
  await vi.waitFor(() => expect(said('home')).toBeDefined(), PATIENCE);
  // The token itself is not printed, only where it is.
  const token = readFileSync(said('token')!, 'utf8').trim();
  const env = { HALO_HOME: join(home.dir, 'elsewhere'), HALO_URL: said('api'), HALO_TOKEN: token };
  const there = async (...words: string[]) => {
    const end = await callHere(words, env);
    expect(end, end.stderr).toMatchObject({ code: 0 });
    return end.stdout;
  };
  const settings = remotelyScripted(`echo x > x; ${OK}`).flatMap((pair) => ['-c', pair]);
  const words = ['submit', prd(['A']), '--repo', repository.root, ...settings];
  const runId = (await there(...words)).trim();
  expect(await there('logs', runId, '-f')).toContain('SUCCESS');
  await there('land', runId);
  expect(repository.git('log', '-1', '--format=%s', 'main')).toBe('feat: [A] - Story A');
  up.process.kill('SIGTERM');
  expect(await up.ended).toMatchObject({ code: 0 });
});

function at(events: JournalEvent[], type: JournalEvent['type']): number {
  return Date.parse(events.find((event) => event.type === type)!.at);
}
