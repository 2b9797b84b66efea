import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi, type TestContext } from 'vitest';
import { FAULTS, type Failpoint, type Fault } from '../../../src/core/failure/failpoint-names.ts';
import { prdOf } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { COMMAND_POINTS } from '../../support/faults/points.ts';
import { killWorker, openWorld, SETTINGS, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';

vi.setConfig({ maxConcurrency: 2 });

const faults = LEVEL < FULL ? FAULTS.filter((fault) => fault === 'kill') : FAULTS;

describe.concurrent('hazard 1: a command with a fault is repeated, and takes effect once', () => {
  it.for(faults)('%s', survive);
});

async function survive(fault: Fault, { task }: TestContext): Promise<void> {
  const world = openWorld();
  const give = (at: Failpoint, words: string[], cwd: string) => giveTwice(world, { words, cwd, at, fault });
  try {
    const bystander = world.addRepository();
    await give('submit.listed', submission(world, bystander, 'submit.listed', []), bystander.root);
    const spared = await onlyRun(world, bystander);
    const runs = [];
    for (const at of ['submit.filled', 'submit.ready', 'submit.placed'] as const) {
      const repository = world.addRepository();
      await give(at, submission(world, repository, at), repository.root);
      runs.push({ runId: await onlyRun(world, repository), repository });
    }
    const [first, second, third] = runs.map(({ runId }) => runId) as [string, string, string];
    await give('command.before', ['pause', first], world.tmp);
    await give('command.after', ['resume', first], world.tmp);
    const worker = world.startWorker();
    await Promise.all(runs.map(({ runId }) => untilHeld(world, runId)));
    await give('command.before', ['approve', second, '--story', 'A'], world.tmp);
    await give('command.after', ['approve', third, '--story', 'A'], world.tmp);
    await give('command.before', ['reject', first, '--story', 'A'], world.tmp);
    await Promise.all([...runs.map(({ runId }) => untilSettled(world, runId)), world.untilEnded(spared)]);
    await stopWorker(worker);
    await tidyUp(world);
    const end = (runId: string) =>
      runId === first ? { stopReason: 'APPROVAL_DENIED', landed: [] } : { stopReason: 'SUCCESS', landed: ['A'] };
    await checkInvariants(world, [
      ...runs.map((run) => ({ ...run, ...end(run.runId), main: 'unchanged' as const })),
      { runId: spared, repository: bystander, main: 'unchanged', landed: ['A'] },
    ]);
    task.meta.chaos = COMMAND_POINTS.map((at) => ({
      at,
      fault,
      outcome: fault === 'delay' ? 'continues' : 'repeat safely',
    }));
  } finally {
    await world.close();
  }
}

interface Order {
  words: string[];
  cwd: string;
  at: Failpoint;
  fault: Fault;
}

/** A command meets the fault, and is given once more where that ended it. */
async function giveTwice({ home }: World, { words, cwd, at, fault }: Order): Promise<void> {
  const armed = `${at}@1:${fault}${fault === 'delay' ? '=200' : ''}`;
  const first = home.start(words, { cwd, env: { HALO_FAILPOINT: armed } });
  if (fault === 'hang') {
    await first.says(`failpoint ${at}: hang`);
    await killWorker(first);
    expect(first.process.signalCode).toBe('SIGKILL');
  }
  const { code, stderr } = await first.ended;
  if (fault === 'kill') expect(first.process.signalCode, stderr).toBe('SIGKILL');
  else if (fault !== 'hang') expect(stderr, words.join(' ')).toContain(`failpoint ${at}`);
  if (fault === 'delay') return expect(code, stderr).toBe(0);
  if (fault === 'throw') expect(code, stderr).not.toBe(0);
  const again = await home.halo(words, { cwd });
  expect(again, words.join(' ')).toMatchObject({ code: 0 });
}

function submission({ home }: World, { root }: TestRepository, key: string, more = ['approval.mode=story']): string[] {
  const path = join(home.dir, `${key}.json`);
  writeFileSync(path, prdOf([{ id: 'A' }]).bytes);
  const settings = [...SETTINGS, ...more].flatMap((setting) => ['-c', setting]);
  return ['submit', path, '--repo', root, '--key', key, ...settings];
}

/** The only run of the repository. */
async function onlyRun({ operations }: World, { root }: TestRepository): Promise<string> {
  const runs = (await operations.listRuns()).runs.filter(({ repo }) => repo.source === root);
  expect(runs).toHaveLength(1);
  return runs[0]!.runId;
}

const until = (isSo: () => boolean) => vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 120_000, interval: 100 });

/** Its story waits for a person. */
const untilHeld = (world: World, runId: string) => until(() => world.journal(runId).at(-1)?.type === 'run.ended');

/** A person has decided, and the run has ended once more. */
const untilSettled = (world: World, runId: string) =>
  until(() => {
    const last = world.journal(runId).findLast((event) => event.type === 'run.ended');
    return last?.stopReason !== 'NEEDS_HUMAN';
  });
