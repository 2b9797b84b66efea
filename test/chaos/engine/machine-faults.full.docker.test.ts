import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { openEngineProxy } from '../../support/docker/engine-proxy.ts';
import { openMachines, type Machine, type Machines, type NoMachines } from '../../support/engines/machines.ts';
import { checkInvariants, type Promised } from '../../support/faults/check-invariants.ts';
import {
  ENGINE_POINTS,
  ENGINE_SAMPLE,
  REVIEW_POINTS,
  SNAPSHOT_POINTS,
  TESTS_POINTS,
} from '../../support/faults/points.ts';
import { IGNORES_INSTALLED, openWorld, REVIEWED, stopWorker, TESTS_FIRST, tidyUp, WITH_SNAPSHOT, type World } from '../../support/faults/world.ts'; // prettier-ignore
import { openRedisServer } from '../../support/redis/redis-server.ts';
import { openTcpProxy } from '../../support/redis/tcp-proxy.ts';
import { ALL, belowLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { probeEngine } from '../../support/suite/probed-engine.ts';
import { skipFor } from '../../support/skip.ts';
import { ENGINE_FAULTS, type Cell, type EngineFault } from '../failpoints/matrix.ts';
import { mountSmallDisk } from '../files/small-disk.ts';
import { COLUMNS, shiftTimes } from './engine-faults.ts';
import { followHeld, type HeldWorker } from './held-worker.ts';

declare module 'vitest' {
  interface TaskMeta {
    engineChaos?: Cell[];
  }
}

const MIB = 1024 ** 2;
const NAMES = ['build-1', 'build-2'] as const;
type Name = (typeof NAMES)[number];
const TAKEOVER = '8s';
const WAIT_MS = 600_000;

const inSetup = (at: Failpoint) => at.startsWith('setup.') || SNAPSHOT_POINTS.includes(at);
/** The kinds of runs, with the failpoints for which they are there. */
const KINDS = {
  plain: ENGINE_POINTS.filter((at) => !inSetup(at) && ![...TESTS_POINTS, ...REVIEW_POINTS].includes(at)),
  'with setup': ENGINE_POINTS.filter(inSetup),
  'with tests first': TESTS_POINTS,
  'with a review': REVIEW_POINTS,
};
type Kind = keyof typeof KINDS;
const SETTINGS: Record<Kind, string[]> = {
  plain: ['setup=[]'],
  'with setup': WITH_SNAPSHOT,
  'with tests first': ['setup=[]', ...TESTS_FIRST],
  'with a review': ['setup=[]', ...REVIEWED],
};
/** The failpoints of one case: those that are lost if it is stopped. */
const PART = 11;
const CASES: [name: string, { fault: EngineFault; kind: Kind; points: Failpoint[] }][] = ENGINE_FAULTS.flatMap(
  (fault) =>
    (Object.keys(KINDS) as Kind[]).flatMap((kind) => {
      const points = KINDS[kind].filter((at) => LEVEL >= ALL || ENGINE_SAMPLE.includes(at));
      const starts = points.map((_at, index) => index).filter((index) => index % PART === 0);
      return starts.map((start): (typeof CASES)[number] => {
        const part = points.slice(start, start + PART);
        return [`${fault}: runs ${kind}, ${part[0]} to ${part.at(-1)}`, { fault, kind, points: part }];
      });
    }),
);

/** Cells that held in an earlier call with the same HALO_CHAOS_CELLS, a file of JSON lines, are not tried again. */
const CELLS = process.env.HALO_CHAOS_CELLS;

let opened: Machines<Name> | NoMachines;
beforeAll(async () => {
  if (LEVEL < FULL) return;
  opened = await openMachines(NAMES, { diskBytes: { 'build-1': 2_000 * MIB, 'build-2': 2_000 * MIB } });
  if ('machines' in opened)
    for (const { socket } of Object.values(opened.machines)) await probeEngine(`unix://${socket}`);
});
afterAll(async () => {
  if (opened !== undefined && 'machines' in opened) await opened.close();
});

describe('hazard 77: workers at failpoints, with engines of other machines', skipFor(belowLevel(FULL)), () => {
  it.for(CASES)('%s', { timeout: 3_600_000 }, async ([, { fault, kind, points }], context) => {
    if ('missing' in opened) return context.skip(opened.missing);
    const known = knownCells().filter((cell) => cell.fault === fault && points.includes(cell.at));
    const left = points.filter((point) => !known.some(({ at }) => at === point));
    const cells = left.map((at) => ({ at, fault, outcome: COLUMNS[fault].outcome }));
    if (left.length > 0) await survive(fault, { kind, points: left, machines: opened.machines });
    context.task.meta.engineChaos = [...known, ...cells];
    if (CELLS !== undefined) appendFileSync(CELLS, cells.map((cell) => `${JSON.stringify(cell)}\n`).join(''));
  });
});

function knownCells(): Cell[] {
  if (CELLS === undefined || !existsSync(CELLS)) return [];
  const lines = readFileSync(CELLS, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Cell);
}

interface Trial {
  kind: Kind;
  points: readonly Failpoint[];
  machines: Record<Name, Machine>;
}

/** Runs of a kind work until the fault has come about at each of the failpoints. */
async function survive(fault: EngineFault, { kind, points, machines }: Trial): Promise<void> {
  const closers: (() => unknown)[] = [];
  const keep: Keep = (each, close) => {
    closers.unshift(() => close(each));
    return each;
  };
  try {
    // An earlier case may have failed while an engine was stopped.
    for (const machine of Object.values(machines)) await machine.docker.ping().catch(() => machine.start());
    const disk = keep(mountSmallDisk(256 * MIB), (each) => each.unmount());
    const redis = keep(await openRedisServer(), (each) => each.close());
    const ways = await openWays(machines, fault === 'times shifted', keep);
    const engines = NAMES.map((name) => machines[name].docker);
    const world = keep(openWorld({ socket: redis.socket, engines, parent: disk.dir }), async (each) => {
      await each.home.kill();
      await each.close();
    });
    writeFileSync(join(world.home.dir, 'config.toml'), configOf(machines, ways));
    const env = { HALO_REDIS_URL: redis.url, HALO_TAKEOVER: TAKEOVER };
    const workers = new Map<Name, HeldWorker>();
    const armed = { ...env, HALO_FAILPOINT: points.map((at) => `${at}:hold`).join() };
    const startMissing = async () => {
      for (const name of NAMES) {
        if (workers.get(name)?.isGone() === false) continue;
        const worker = followHeld(world.startWorker(armed, { engine: name }));
        workers.set(name, worker);
        await worker.process.says('running up to');
      }
    };
    const stopAll = async () => {
      const living = [...workers.values()].filter((worker) => !worker.isGone());
      const ending = living.map(({ process }) => stopWorker(process));
      const releasing = setInterval(() => living.forEach((each) => each.isGone() || each.release()), 50);
      await Promise.all(ending);
      clearInterval(releasing);
    };
    const left = new Set(points);
    const runs: Promised[] = [];
    const isOver = () => runs.every(({ runId }) => world.journal(runId).some(({ type }) => type === 'run.ended'));
    const waiting = () => NAMES.find((name) => (workers.get(name)?.waitsAt().length ?? 0) > 0);
    const untilNext = (condition: () => boolean) =>
      vi.waitUntil(() => condition() || isOver() || waiting() !== undefined, { timeout: WAIT_MS, interval: 50 });
    await startMissing();
    while (left.size > 0) {
      const before = left.size;
      runs.push(await submit(world, kind, runs.length));
      // The last failpoints come after the end of the run, on a busy machine seconds later.
      for (let quiet = 0; quiet < (left.size > 0 ? 20 : 3);) {
        await untilNext(() => false);
        const name = waiting();
        if (name === undefined) {
          quiet += 1;
          await new Promise((resolve) => setTimeout(resolve, 500));
          continue;
        }
        quiet = 0;
        const worker = workers.get(name)!;
        const fresh = worker.waitsAt().filter((at) => left.has(at));
        if (fresh.length === 0) {
          worker.release();
          continue;
        }
        const scene = { world, worker, machine: machines[name], way: ways[name], redis, stopAll, startMissing };
        await COLUMNS[fault].happen({ ...scene, untilNext: async (condition) => void (await untilNext(condition)) });
        for (const at of fresh) left.delete(at);
      }
      expect(left.size, `no run comes by: ${[...left].join(', ')}`).toBeLessThan(before);
    }
    if (fault === 'delay')
      for (const { runId } of runs)
        expect(world.journal(runId).filter(({ type }) => type === 'story.disturbed')).toEqual([]);
    await stopAll();
    await Promise.all(NAMES.map((engine) => tidyUp(world, env, { engine })));
    await checkInvariants(world, runs);
  } finally {
    for (const close of closers) await close();
  }
}

type Keep = <T>(each: T, close: (each: T) => unknown) => T;

/** A way to each engine, over TLS; with `liars`, engines whose answers have wrong times: one is ahead, one behind. */
async function openWays(machines: Record<Name, Machine>, liars: boolean, keep: Keep) {
  const open = async (name: Name) => {
    const { address, socket, etc } = machines[name];
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((file) => readFileSync(join(etc, `${file}.pem`)));
    const tls = { ca, cert, key, requestCert: true, rejectUnauthorized: true };
    const liar = liars ? keep(await openEngineProxy(socket, { tls }), (each) => each.close()) : undefined;
    liar?.misbehave(() => ({ alter: (piece) => shiftTimes(piece, name === 'build-1' ? 10 : -10) }));
    const { hostname, port } = new URL(liar?.host ?? address);
    return keep(await openTcpProxy({ host: hostname, port: Number(port) }), (each) => each.close());
  };
  return { 'build-1': await open('build-1'), 'build-2': await open('build-2') };
}

function configOf(machines: Record<Name, Machine>, ways: Record<Name, { port: number }>): string {
  const tables = NAMES.map((name) => [
    '[[engines]]',
    `name = "${name}"`,
    `address = "tcp://127.0.0.1:${ways[name].port}"`,
    ...['ca', 'cert', 'key'].map((file) => `${file} = "${join(machines[name].certificates, `${file}.pem`)}"`),
  ]);
  return ['[limits]', 'free_disk = "16m"', ...tables.flat()].join('\n');
}

/** Each fault takes a retry; and all errors look the same here. */
const PATIENT = [
  'land.mode="ff"',
  'prd.write_back=true',
  'retry.infrastructure.retries=50',
  'retry.environment.retries=50',
  'retry.crashes=50',
  'breaker.same_error=100',
  'retry.infrastructure.backoff="200ms"',
  'retry.max_backoff="1s"',
];

/** A run of several stories in a repository of its own. */
async function submit(world: World, kind: Kind, index: number): Promise<Promised> {
  // Engines keep the objects of some repositories; those of others are sent with each workspace.
  const large: Record<string, string> = index % 2 === 0 ? { large: randomBytes(250_000).toString('hex') } : {};
  const repository = world.addRepository({ ...IGNORES_INSTALLED, ...large });
  const landed = LEVEL < ALL ? ['A', 'B'] : ['A', 'B', 'C', 'D', 'E', 'F'];
  const stories = landed.map((id) => ({ id }));
  const runId = await world.submit(repository, stories, [...PATIENT, ...SETTINGS[kind]]);
  return { runId, repository, main: 'may follow', landed };
}
