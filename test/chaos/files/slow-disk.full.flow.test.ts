import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';

const HAS_GCC = spawnSync('gcc', ['--version']).status === 0;
const SLOW_SYNC = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
#define SLOW(name) int name(int fd) { usleep(400000); return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); }
SLOW(fsync)
SLOW(fdatasync)
`;

/** The library with which each fsync of a process and its children takes 0.4 s longer. */
function buildSlowSync(): string {
  const dir = tempDir('halo-slow-disk');
  const [source, library] = [join(dir, 'slow.c'), join(dir, 'slow.so')];
  writeFileSync(source, SLOW_SYNC);
  execFileSync('gcc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
  return library;
}

describe('hazard 66: a disk that takes 0.4 s for each fsync', skipFor(!HAS_GCC && 'needs gcc'), () => {
  it('delays stories, and nothing else: no attempt is repeated, and no worker counts as dead', async () => {
    const world = openWorld();
    try {
      const repository = world.addRepository();
      const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], ['land.mode="ff"']);
      const slow = { LD_PRELOAD: buildSlowSync() };
      const workers = [world.startWorker(slow), world.startWorker(slow)];
      await world.untilEnded(runId);
      for (const worker of workers) await stopWorker(worker);
      const journal = world.journal(runId);
      const started = journal.flatMap((event) =>
        event.type === 'story.started' ? [[event.story, event.attempt]] : [],
      );
      expect(started).toEqual([
        ['A', 1],
        ['B', 1],
      ]);
      expect(journal.filter(({ type }) => type === 'story.disturbed' || type === 'retry.scheduled')).toEqual([]);
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'may follow', landed: ['A', 'B'] }]);
    } finally {
      await world.close();
    }
  });
});
