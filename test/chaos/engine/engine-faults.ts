import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { Machine } from '../../support/engines/machines.ts';
import { killWorker, type World } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';
import type { RedisServer } from '../../support/redis/redis-server.ts';
import type { TcpProxy } from '../../support/redis/tcp-proxy.ts';
import type { EngineFault } from '../failpoints/matrix.ts';
import type { HeldWorker } from './held-worker.ts';

/** The surroundings of a worker that waits at failpoints. */
export interface Scene {
  world: World;
  worker: HeldWorker;
  /** The machine of its engine, and the connection to it. */
  machine: Machine;
  way: TcpProxy;
  redis: RedisServer;
  /** Ends all workers in good order, also those that wait. */
  stopAll: () => Promise<void>;
  /** Starts a worker for each engine that has none. */
  startMissing: () => Promise<void>;
  /** Waits for a condition, or until the next worker waits at a failpoint, or until all runs have ended. */
  untilNext: (condition: () => boolean) => Promise<void>;
}

interface Column {
  outcome: string;
  /** What happens to a worker that waits. It continues when this resolves, or another one does. */
  happen: (scene: Scene) => Promise<void>;
}

const SLOW_MS = 100;

const kill = async ({ world, worker, startMissing }: Scene) => {
  await killWorker(worker.process);
  await world.expireLocks();
  await startMissing();
};

/** By fault: what happens while a worker is at failpoints, and what becomes of its stories. */
export const COLUMNS: Record<EngineFault, Column> = {
  cut: {
    outcome: 'taken over',
    happen: async ({ way, worker }) => {
      const [lost, found] = [worker.count(LOST), worker.count(FOUND)];
      way.turn('reset');
      way.turn('black hole');
      worker.release();
      await vi.waitUntil(() => worker.count(LOST) > lost, PATIENCE);
      way.turn('clear');
      await vi.waitUntil(() => worker.count(FOUND) > found, PATIENCE);
    },
  },
  delay: {
    outcome: 'continues',
    happen: async ({ way, worker, untilNext }) => {
      way.turn({ slowMs: SLOW_MS });
      worker.release();
      await untilNext(() => false);
      way.turn('clear');
    },
  },
  'worker killed': { outcome: 'taken over', happen: kill },
  'engine killed': {
    outcome: 'recovered',
    happen: async ({ machine, worker }) => {
      await machine.stop('SIGKILL');
      worker.release();
      await machine.start();
    },
  },
  'engine restarted': {
    outcome: 'recovered',
    happen: async ({ machine, worker }) => {
      const stopping = machine.stop('SIGTERM');
      worker.release();
      await stopping;
      await machine.start();
    },
  },
  'engine disk full': {
    outcome: 'recovered',
    happen: async ({ machine, worker, untilNext, world }) => {
      const disturbed = () => countDisturbed(world);
      const before = disturbed();
      fill(machine.data);
      worker.release();
      await untilNext(() => disturbed() > before);
      free(machine.data);
    },
  },
  'server restarted': {
    outcome: 'taken over',
    happen: async ({ redis, stopAll, startMissing }) => {
      await redis.kill();
      await stopAll();
      redis.start();
      await startMissing();
    },
  },
  'server disk full': {
    outcome: 'recovered',
    happen: async ({ world, worker, untilNext }) => {
      const disk = join(world.home.dir, '..');
      const before = worker.count(FULL_DISK);
      fill(disk);
      worker.release();
      await untilNext(() => worker.count(FULL_DISK) > before);
      free(disk);
    },
  },
  'times shifted': { outcome: 'taken over', happen: kill },
};

const LOST = /the engine has not answered for too long/g;
const FOUND = /the engine can run stories again/g;
const FULL_DISK = /disk is full|No space left|ENOSPC|MISCONF/g;

function countDisturbed(world: World): number {
  const events = world.home.runIds().flatMap((runId) => world.journal(runId));
  return events.filter(({ type }) => type === 'story.disturbed').length;
}

/** Takes all the room on the disk of a folder. */
function fill(dir: string): void {
  const { status } = spawnSync('dd', ['if=/dev/zero', `of=${join(dir, 'filler')}`, 'bs=1M']);
  if (status !== 1) throw new Error(`The disk of ${dir} is not full.`);
}

function free(dir: string): void {
  rmSync(join(dir, 'filler'));
}

const SECONDS = 31_557_600;

/** Shifts all times in a piece of an answer of an engine, whose length stays the same. */
export function shiftTimes(text: string, years: number): string {
  const later = (year: string) => String(Number(year) + years);
  return text
    .replace(/\b20\d\d(?=-\d\d-\d\dT\d\d:)/g, later)
    .replace(/(?<=[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} )20\d\d/g, later)
    .replace(/(?<="(?:Created|time)":)\d{10}\b/g, (time) => String(Number(time) + years * SECONDS))
    .replace(/(?<="timeNano":)\d{19}\b/g, (time) => String(BigInt(time) + BigInt(years * SECONDS) * 1_000_000_000n));
}
