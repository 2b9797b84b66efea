import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { fastForward } from '../../../src/git/land/fast-forward.ts';
import { holdCommit, openHeldRepository, readHeldCommit } from '../../../src/git/commit/held-commits.ts';
import { moveBranch, transferCommit } from '../../../src/git/land/land-commit.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { readNote, writeNote } from '../../../src/git/commit/notes.ts';
import { restoreStash, stashChanges } from '../../../src/git/repository/stash.ts';
import { checkOutWorktree } from '../../../src/git/repository/worktrees.ts';
import { openStore } from '../../../src/store/store.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { created } from '../../support/journal.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { canCutPower, openPowerDisk, type PowerDisk } from './power-disk.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';

const ref = 'refs/heads/halo/r1';

describe(
  'hazard 44: the power fails right after a write',
  skipFor(!canCutPower() && 'needs root, loop devices and ext4'),
  () => {
    /** The user's repository and halo's: what one of them writes through says nothing of the other. */
    let work: PowerDisk;
    let homes: PowerDisk;
    let count = 0;
    let root: string;
    let home: string;
    let base: string;
    let candidateDir: string;
    let commit: string;
    let mirrorDir: string;

    beforeAll(() => {
      [work, homes] = [openPowerDisk(), openPowerDisk()];
    });
    afterAll(async () => {
      for (const disk of [work, homes]) await disk.remove();
    });
    beforeEach(async () => {
      count += 1;
      root = join(work.dir, `repository-${count}`);
      home = join(homes.dir, `home-${count}`);
      base = makeRepo(root);
      work.settle();
      const agent = join(tempDir(), 'agent');
      run('/', ['clone', '-q', root, agent]);
      candidateDir = join(agent, '.git');
      commit = commitFiles(agent, { 'new.txt': 'x\n', 'a/b/c.txt': 'y\n' }, 'a story');
      mirrorDir = (await updateMirror({ home, name: 'm', from: join(root, '.git'), commit: base })).dir;
    });

    const cutPower = async () => {
      for (const disk of [work, homes]) disk.cut();
      for (const disk of [work, homes]) await disk.restart();
    };
    const places = () => ({ hostGitDir: join(root, '.git'), mirrorDir, ref, commit });
    const isWhole = (dir: string) => expect(run(dir, ['fsck', '--strict', '--no-dangling', '--no-progress'])).toBe('');
    const kept = () => readdirSync(join(root, '.git/objects/pack')).filter((name) => name.endsWith('.keep'));

    it('a record in a journal, also if nothing else of the run is written', async () => {
      const store = openStore(home, { transcribe });
      const entry = created();
      await store.createRun(entry, { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} });
      const gate: JournalEntry = {
        ...{ type: 'gate.ended', story: 'US-001', attempt: 1, command: 'npm test', exitCode: 0, ms: 1, log: 'gates/1' },
      };
      await store.append(entry.runId, [gate]);
      await cutPower();
      const events = readJournal(home, entry.runId);
      expect(events.map(({ type }) => type)).toEqual(['run.created', 'gate.ended']);
    });

    it('a mirror', async () => {
      await cutPower();
      isWhole(mirrorDir);
      expect(run(mirrorDir, ['rev-parse', `refs/halo/base/${base}`])).toBe(base);
    });

    it('a landing: objects, branch, its log and note exist', async () => {
      const release = await transferCommit({ ...places(), candidateDir });
      await moveBranch({ ...places(), expected: undefined });
      await writeNote({ gitDir: join(root, '.git'), commit, text: '{"v":1}' });
      await release();
      await cutPower();
      for (const dir of [root, mirrorDir]) {
        isWhole(dir);
        expect(run(dir, ['rev-parse', ref])).toBe(commit);
      }
      expect(run(root, ['reflog', ref])).toContain('story landed');
      expect((await readNote(join(root, '.git'), commit))?.text).toBe('{"v":1}');
      run(root, ['gc', '--prune=now', '--quiet']);
    });

    it('the first half of a landing: it is repeated', async () => {
      await transferCommit({ ...places(), candidateDir });
      await cutPower();
      expect(readFileSync(join(root, '.git/objects/pack', kept()[0]!), 'utf8')).toMatch(/^halo lands a commit, \S+\n$/);
      for (const dir of [root, mirrorDir]) {
        isWhole(dir);
        expect(run(dir, ['cat-file', '-t', commit])).toBe('commit');
      }
      await transferCommit({ ...places(), candidateDir });
      await moveBranch({ ...places(), expected: undefined });
      isWhole(root);
    });

    it('a commit that waits for approval', async () => {
      await holdCommit({ candidateDir, mirrorDir, runId: 'r1', storyKey: 'a', commit });
      await cutPower();
      isWhole(mirrorDir);
      const heldDir = await openHeldRepository(mirrorDir);
      expect(run(heldDir, ['rev-parse', 'refs/halo/held/r1/a'])).toBe(commit);
      expect(await readHeldCommit(heldDir, commit)).toMatchObject({ parent: base });
    });

    it('a fast-forward of a checkout: files, index and branch match the commit', async () => {
      run(root, ['fetch', '-q', candidateDir, commit]);
      work.settle();
      await fastForward({ root, gitDir: join(root, '.git'), branch: 'main', to: commit });
      await cutPower();
      isWhole(root);
      expect(run(root, ['rev-parse', 'HEAD'])).toBe(commit);
      expect(run(root, ['status', '--porcelain'])).toBe('');
      expect(readFileSync(join(root, 'a/b/c.txt'), 'utf8')).toBe('y\n');
    });

    it('a stash of the user’s changes', async () => {
      writeFileSync(join(root, 'README.md'), 'changed\n');
      const stash = await stashChanges(root, { except: [], message: 'halo' });
      await cutPower();
      isWhole(root);
      expect(await restoreStash(stash!)).toBeUndefined();
      expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('changed\n');
    });

    it('a separate worktree: the repository works as before', async () => {
      await checkOutWorktree({ gitDir: join(root, '.git'), commit: base, path: join(home, 'worktrees', 'r1') });
      await cutPower();
      isWhole(root);
      expect(run(root, ['worktree', 'list'])).toContain('worktrees/r1');
      run(root, ['gc', '--prune=now', '--quiet']);
    });
  },
);
