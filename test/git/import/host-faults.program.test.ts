import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { importTree } from '../../../src/git/import/import-tree.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { PATIENCE } from '../../support/patience.ts';
import { leaveGitLauncher, shareGitLauncher } from '../../support/suite/git-launcher.ts';
import { makeWorkshop, snapshot, type Workshop } from './import-fixture.ts';

function importFile(shop: Workshop, packFile: string) {
  const { scratchDir, base } = shop;
  return importTree({ scratchDir, base, tree: snapshot(shop, { a: '2' }), packFile, masker: openMasker() });
}

/** An import whose git waits for a pack, and the ids of this git and of its parent. */
async function importSlowly() {
  const shop = await makeWorkshop();
  const pipe = join(shop.home, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const end = openSync(pipe, 'r+');
  onTestFinished(() => closeSync(end));
  const done = importFile(shop, pipe);
  done.catch(() => undefined);
  const [pid, parent] = await vi.waitFor(() => {
    const lines = execFileSync('ps', ['-ww', '-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
    const line = lines.find((each) => each.includes(shop.scratchDir) && / \S*git .* index-pack /.test(each));
    if (line === undefined || line.includes('ulimit')) throw new Error('git does not read the pack yet');
    return line.trim().split(/\s+/).map(Number);
  }, PATIENCE);
  return { done, pid: pid!, parent: parent! };
}

describe.each([
  { name: 'in the small process', enter: shareGitLauncher },
  { name: 'as a child of this process', enter: leaveGitLauncher },
])('git that reads a pack, $name', ({ enter }) => {
  beforeAll(enter);
  afterAll(shareGitLauncher);

  it('is not the fault of the agent if the file is missing', async () => {
    const shop = await makeWorkshop();
    await expect(importFile(shop, join(shop.home, 'none.pack'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is not the fault of the agent if the disk cannot be read', async () => {
    // The system answers EIO to who reads at the start of this file.
    await expect(importFile(await makeWorkshop(), '/proc/self/mem')).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringContaining('Input/output error') as string,
    });
  });

  it('is the fault of the agent if the system ends it, as for a pack that needs too much memory', async () => {
    const { done, pid } = await importSlowly();
    process.kill(pid, 'SIGKILL');
    await expect(done).rejects.toMatchObject({ code: 'POLICY_VIOLATION' });
  });
});

it('a small process that is killed while git reads a pack is not the fault of the agent', async () => {
  shareGitLauncher();
  const { done, parent } = await importSlowly();
  expect(parent).not.toBe(process.pid);
  process.kill(parent, 'SIGKILL');
  await expect(done).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining('the process that runs git has ended') as string,
  });
});
