import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { sleep } from '../../../src/lib/async.ts';
import { prdOf } from '../../support/halo/halo.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';
import { openPowerDisk } from './power-disk.ts';
import { openWorld, SETTINGS, type World } from '../../support/faults/world.ts';

/** A world whose HALO_HOME and repositories are on two disks that lose their power together. */
export interface PowerWorld {
  world: World;
  addRepository(): TestRepository;
  /** By a process of its own, because the power takes that as well. */
  submit(repository: TestRepository, ids: string[], settings?: string[]): Promise<string>;
  /** Has a worker come as far as this place, and cuts the power there. */
  cutPowerAt(at: Failpoint): Promise<void>;
  /** Cuts the power, and starts the machine again: no process and no container lives, what was reported to users is known. */
  cutPower(): Promise<void>;
  /** The commits of which anybody could see at a cut that they had landed, by run. */
  shown: ReadonlyMap<string, ReadonlySet<string>>;
  close(): Promise<void>;
}

/** For a worker to take a story over and reach a place in it. */
const MAX_WAIT_MS = 180_000;

export function openPowerWorld(): PowerWorld {
  const homes = openPowerDisk();
  const work = openPowerDisk();
  const disks = [homes, work];
  const world = openWorld({ parent: homes.dir });
  const shown = new Map<string, Set<string>>();
  let count = 0;
  const cutPower = async () => {
    const home = readFileSync(join(world.home.dir, 'id'), 'utf8').trim();
    for (const [runId, commits] of shown) for (const commit of landedCommits(world, runId)) commits.add(commit);
    for (const disk of disks) disk.cut();
    await world.home.kill();
    await killContainers(world, home);
    for (const disk of disks) await disk.restart();
  };
  return {
    world,
    shown,
    cutPower,
    async cutPowerAt(at) {
      const worker = world.startWorker({ HALO_FAILPOINT: `${at}@1:hang` });
      const late = new AbortController();
      await Promise.race([
        worker.says(`failpoint ${at}`),
        sleep(MAX_WAIT_MS, late.signal).then(() => {
          if (!late.signal.aborted) throw new Error(`no worker reached ${at}:\n${worker.stderr()}`);
        }),
      ]);
      late.abort();
      await cutPower();
    },
    addRepository() {
      const repository = makeRepository({}, 'repository', work.dir);
      world.repositories.push(repository);
      work.settle();
      return repository;
    },
    async submit(repository, ids, settings = []) {
      const path = join(world.tmp, '..', `prd-${(count += 1)}.json`);
      writeFileSync(path, prdOf(ids.map((id) => ({ id }))).bytes);
      const set = [...SETTINGS, 'setup=["true"]', ...settings].flatMap((setting) => ['-c', setting]);
      const words = ['submit', path, '--repo', repository.root, ...set];
      const { code, stdout, stderr } = await world.home.halo(words, { cwd: repository.root });
      expect(code, stderr).toBe(0);
      const runId = stdout.trim();
      shown.set(runId, new Set());
      return runId;
    },
    async close() {
      await world.close();
      for (const disk of disks) await disk.remove();
    },
  };
}

function landedCommits(world: World, runId: string): string[] {
  return world
    .journal(runId)
    .flatMap((event) => (event.type === 'story.ended' && event.commit !== undefined ? [event.commit] : []));
}

/** A container that is being made may appear after its maker is gone. */
async function killContainers({ engines }: World, home: string): Promise<void> {
  const filters = { label: [`dev.halo.home=${home}`] };
  for (const docker of engines)
    for (const { Id } of await docker.listContainers({ filters }))
      await docker
        .getContainer(Id)
        .kill()
        .catch(() => undefined);
}
