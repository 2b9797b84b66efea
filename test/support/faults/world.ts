import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import Docker from 'dockerode';
import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { Operations } from '../../../src/api/operations.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { REVIEW_SETTINGS, reviewedAgent, reviewWith } from '../halo/reviewed.ts';
import { OK, prdOf, scripted, type TestStory } from '../halo/halo.ts';
import { openHome, type HaloHome, type HaloProcess } from '../halo/halo-process.ts';
import { expireLeases } from '../redis/expire-leases.ts';
import { findLeftovers } from './find-leftovers.ts';
import { makeRepository, type TestRepository } from '../repository/repository.ts';
import { hostOf } from '../halo/host.ts';
import { readJournal } from '../halo/read-journal.ts';
import { PATIENCE } from '../patience.ts';

/** A secret that every worker here knows; no file may ever hold it. */
export const CANARY = 'canary-5f1d0c7e9b3a4826';

/** How long the lock of a dead worker lasts here. */
const TAKEOVER = '4s';

/** A HALO_HOME with real processes, and repositories to work on. */
export interface World {
  home: HaloHome;
  /** Redis listens here. */
  redisSocket: string;
  /** The engines of the workers. */
  engines: readonly Docker[];
  /** Temporary files of the workers. */
  tmp: string;
  operations: Operations;
  repositories: TestRepository[];
  addRepository(files?: Record<string, string>): TestRepository;
  /** Submits a PRD of its own file for a repository. */
  submit(repository: TestRepository, stories: TestStory[], settings?: string[]): Promise<string>;
  startWorker(
    env?: Record<string, string>,
    how?: { concurrency?: number; via?: string[]; engine?: string },
  ): HaloProcess;
  /** What the time of a takeover changes after the last worker died: the locks of its jobs and its leases expire. */
  expireLocks(): Promise<void>;
  journal(runId: string): JournalEvent[];
  untilEnded(runId: string, timeout?: number): Promise<void>;
  close(): Promise<void>;
}

/** A story that does next to nothing, and prints the secret that it knows. */
export const NO_OP = `date +%N >> "$(grep -oE 'Story [A-Z0-9-]+' | head -n 1 | tr -d ' ')"; printf 'canary-%s\\n' ${CANARY.slice('canary-'.length)}; ${OK}`;

/** Of a run of such stories. */
export const SETTINGS = scripted(NO_OP, ['true'], ['tests.baseline="auto"', 'secrets.env=["CHAOS_CANARY"]']);

/** Files of a repository for WITH_SNAPSHOT. */
export const IGNORES_INSTALLED = { '.gitignore': 'node_modules/\n' };

/** Settings of a run whose setup makes a snapshot, which no story changes. */
export const WITH_SNAPSHOT = [
  'setup=["mkdir -p node_modules && date > node_modules/installed"]',
  'snapshot.inputs=["README.md"]',
  'gates=["test -f node_modules/installed"]',
  // Setup installs the date, so that a repeated check would find a difference.
  'snapshot.recheck=0',
];

/** Settings of a run whose stories begin with a test, in TAP. */
export const TESTS_FIRST = [
  `agents.command.run=${JSON.stringify(writesTestsFirst())}`,
  'tests.first="on"',
  'tests.files=["*.test.sh"]',
  'tests.command="echo TAP version 13; sh {files}"',
  'tests.refactor=true',
];

/** Settings of a run whose stories are reviewed by an agent that agrees. */
export const REVIEWED = [
  `agents.command.run=${JSON.stringify(reviewedAgent('n=$(grep -oE "Story [A-Z0-9-]+" /tmp/prompt | head -n 1 | tr -d " "); date +%N >> "$n"', reviewWith([])))}`,
  ...REVIEW_SETTINGS,
];

/** The same story, for which the agent writes a test if it is asked for one. */
function writesTestsFirst(): string {
  const test = 'if test -f $n; then echo ok 1 - there; else echo not ok 1 - there; exit 1; fi';
  return `cat > /tmp/prompt; n=$(grep -oE 'Story [A-Z0-9-]+' /tmp/prompt | head -n 1 | tr -d ' '); if grep -q 'Write the tests for' /tmp/prompt; then echo "${test}" > "$n.test.sh"; else date +%N >> "$n"; fi; ${OK}`;
}

/**
 * With a Redis of its own, which `socket` leads to, or with halo's; `engine` likewise is the engine's socket, and `engines`
 * are those of config.toml. The HALO_HOME is made in `parent`.
 */
export function openWorld({
  socket,
  engine,
  engines = [new Docker(engine === undefined ? {} : { socketPath: engine })],
  parent,
}: { socket?: string; engine?: string | undefined; engines?: readonly Docker[]; parent?: string } = {}): World {
  const home = openHome(parent);
  const side = mkdtempSync(join(tmpdir(), 'halo-chaos-'));
  const tmp = join(side, 'tmp');
  mkdirSync(tmp);
  const operations = openLocal({
    host: hostOf(home.dir, socket && `unix://${socket}`),
  });
  const redisSocket = socket ?? join(home.dir, 'redis', 'redis.sock');
  const repositories: TestRepository[] = [];
  const journal = (runId: string) => readJournal(home.dir, runId);
  let count = 0;
  return {
    home,
    redisSocket,
    engines,
    tmp,
    operations,
    repositories,
    addRepository(files = {}) {
      const repository = makeRepository(files);
      repositories.push(repository);
      return repository;
    },
    async submit(repository, stories, settings = []) {
      const folder = join(side, `prd-${(count += 1)}`);
      mkdirSync(folder);
      const { bytes } = prdOf(stories);
      const path = join(folder, 'prd.json');
      writeFileSync(path, bytes);
      const [submitted] = (
        await operations.submit({
          prd: { path, bytes },
          repos: [repository.root],
          profile: undefined,
          set: [...SETTINGS, 'setup=["true"]', ...settings],
          allowDirty: false,
        })
      ).runs;
      return submitted!.runId;
    },
    startWorker(env = {}, { concurrency = 1, via = [], engine: name } = {}) {
      const on = name === undefined ? [] : ['--engine', name];
      return home.start(['worker', '--concurrency', String(concurrency), ...on], {
        cwd: side,
        env: {
          ...(engine === undefined ? {} : { DOCKER_HOST: `unix://${engine}` }),
          TMPDIR: tmp,
          HALO_TAKEOVER: TAKEOVER,
          CHAOS_CANARY: CANARY,
          ...env,
        },
        via,
      });
    },
    async expireLocks() {
      await expireLeases(home.dir, redisSocket);
      await withQueue(home, redisSocket, async (queue, client) => {
        for (const { id = '' } of await queue.getActive()) {
          await client.del(queue.toKey(`${id}:lock`));
          await client.sadd(queue.toKey('stalled'), id);
        }
        await client.del(queue.toKey('stalled-check'));
      });
    },
    journal,
    untilEnded: (runId, timeout = 250_000) =>
      vi.waitFor(
        () => {
          const last = journal(runId).findLast(({ type }) => type === 'run.ended');
          if (last === undefined) throw new Error(`run ${runId} has not ended`);
        },
        { timeout, interval: 100 },
      ),
    async close() {
      await operations.close();
      await home.close();
      for (const repository of repositories) repository.remove();
      rmSync(side, { recursive: true, force: true });
    },
  };
}

/** Ends a worker in good order. */
export async function stopWorker(worker: HaloProcess): Promise<void> {
  worker.process.kill('SIGTERM');
  await worker.ended;
}

/** Ends a worker at this very instruction. */
export async function killWorker(worker: HaloProcess): Promise<void> {
  worker.process.kill('SIGKILL');
  await worker.ended;
}

/** A worker that finds what is left to do, and to clean up, before it stops. */
export async function tidyUp(world: World, ...how: Parameters<World['startWorker']>): Promise<void> {
  const worker = world.startWorker(...how);
  await worker.says('running up to');
  await untilTidy(world);
  await stopWorker(worker);
}

/** Waits until a worker has no job and nothing to clean up. */
export async function untilTidy(world: World): Promise<void> {
  await vi.waitFor(async () => expect(await activeJobs(world)).toEqual([]), { timeout: 120_000, interval: 100 });
  // What the engine is still busy with cannot be removed yet: the worker tries again with each of its rounds.
  const clean = async () => expect(await findLeftovers(world.home.dir, world.engines)).toEqual([]);
  await vi.waitFor(clean, { ...PATIENCE, interval: 150 }).catch(() => undefined);
}

/** Ids of the jobs that Redis takes for being under way. */
export async function activeJobs({ home, redisSocket }: World): Promise<string[]> {
  // Halo's own server goes with the last process that used it.
  if (!existsSync(redisSocket)) return [];
  return await withQueue(home, redisSocket, async (queue) => (await queue.getActive()).map(({ id }) => id ?? ''));
}

async function withQueue<T>(
  home: HaloHome,
  path: string,
  use: (queue: Queue, client: Redis) => Promise<T>,
): Promise<T> {
  const prefix = `halo-${readFileSync(join(home.dir, 'id'), 'utf8').trim()}`;
  const connection = new Redis({ path, maxRetriesPerRequest: null });
  const queue = new Queue('stories', { connection, prefix });
  try {
    return await use(queue, connection);
  } finally {
    await queue.close();
    connection.disconnect();
  }
}
