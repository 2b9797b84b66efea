import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { importFrom, makeWorkshop, resetAgent, snapshot, type Workshop } from '../../git/import/import-fixture.ts';
import { it as base } from '../../support/fixtures.ts';
import { OK } from '../../support/halo/halo.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';
import {
  attackAndFail,
  attackAndLand,
  attackByWork,
  attackPrograms,
  attackVerdict,
  branchOfAttack,
  FORGED_EVENT,
  HOSTILE_GIT_DIRS,
  quoteForShell,
  REFUSED_WORK,
  type AttackedRun,
} from './import-attacks.ts';

/**
 * Attacks by what an agent leaves in its workspace and says at its end: whole runs, and the import of a workspace for
 * further variants.
 */

let workshop: Workshop | undefined;

/** What the import of a workspace says after this change to a repository with the file `src/a`. */
async function importAfter(change: string): Promise<unknown> {
  workshop ??= await makeWorkshop({ 'README.md': 'A test.\n', 'src/a': 'a' });
  resetAgent(workshop);
  execFileSync('sh', ['-ec', change], { cwd: workshop.agent });
  return importFrom(workshop, snapshot(workshop));
}

async function expectImportRefused(change: string, why: string): Promise<void> {
  const message = expect.toSatisfy((text: string) => text.includes(why) && !/\p{Cf}|\p{Cc}/u.test(text)) as string;
  await expect(importAfter(change)).rejects.toMatchObject({ code: 'POLICY_VIOLATION', message });
}

const it = base
  .extend('landed', { scope: 'file' }, ({ halo }) => attackAndLand(halo))
  .extend('refused', { scope: 'file' }, ({ halo }) => attackAndFail(halo))
  .extend('verdict', { scope: 'file' }, ({ halo }) => attackVerdict(halo))
  .extend('programs', { scope: 'file' }, ({ halo }) => attackPrograms(halo));

function expectRefused({ state, repository }: AttackedRun, title: string): void {
  const story = state.stories.find((each) => each.title === title);
  expect(story).toMatchObject({ progress: 'failed', stopReason: 'POLICY_VIOLATION' });
  expect(story!.summary).toContain(REFUSED_WORK[title]![1]);
  expect(story!.summary).not.toMatch(/\p{Cf}|\p{Cc}/u);
  expect(repository.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
}

describe('attack 18: a process that outlives the agent', () => {
  it('changes nothing of the judged and landed tree', async ({ halo }) => {
    const flip = '(while :; do date +%N > flip; done) >/dev/null 2>&1 & echo one > flip; sleep 0.2;';
    const attacked = await attackByWork(halo, `setsid sh -c ${quoteForShell(flip)} & sleep 0.3\n${OK}`, {
      gates: ['cat flip'],
    });
    const { state, repository } = attacked;
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const judged = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/gates/1.log`);
    expect(judged.trim()).toBe(repository.git('show', `${branchOfAttack(attacked)}:flip`));
  });
});

describe('attacks 19, 20, hazard 28: special files', () => {
  it('are not imported: pipes, sockets, setuid, sparse files', ({ landed }) => {
    const names = ['p', 's', 'a', 'b', 'sparse'];
    const tree = landed.repository.git('ls-tree', '-r', '--format=%(objectmode) %(path)', landed.commitOf('Second'), ...names); // prettier-ignore
    expect(tree.split('\n')).toEqual(['100644 a', '100644 b', '100755 s', '100644 sparse']);
  });

  it.each([
    ['a link that climbs out', 'mkdir d; ln -s ../../etc/passwd d/p'],
    ['an absolute link', 'ln -s /etc out'],
    ['a link into .git', 'ln -s .git/hooks hooks'],
    ['a folder replaced by a link', 'rm -rf src; ln -s / src'],
  ])('%s is refused', (_what, change) => expectImportRefused(change, 'symbolic link'));
});

describe('attack 21, incident git-hooks, hazard 28: a hostile .git', () => {
  it.for(Object.entries(HOSTILE_GIT_DIRS))(
    '%s, runs no program and does not prevent the import',
    ([, title], { landed }) => {
      const { repository, state, wires, commitOf } = landed;
      expect(state.stories.find((story) => story.title.startsWith(title))).toMatchObject({ progress: 'passed' });
      expect(repository.git('show', `${commitOf(title)}:${title.toLowerCase()}`)).toBe('work');
      expect(existsSync(wires.git)).toBe(false);
      expect(readFileSync(join(repository.root, '.git/config'), 'utf8')).not.toContain(wires.git);
    },
  );
});

describe('attack 22: filters and drivers configured on the host', () => {
  it('are not run for files of the story with any attributes', async ({ halo, landed }) => {
    expect((await halo.operations.readDiff({ runId: landed.state.runId, story: '../../../etc' })).toString()).toMatch(
      /^\+\+\+ b\/x\.evil\n.*\n\+x$/m,
    );
    expect(existsSync(landed.wires.host)).toBe(false);
  });

  it('cannot be enabled by new attributes without approval', ({ programs: { state } }) => {
    expect(state).toMatchObject({ stopReason: 'NEEDS_HUMAN' });
    expect(state.stories[0]!.held?.paths).toContain('.gitattributes');
  });
});

describe('attack 23, incident git-holes: submodules', () => {
  const GITLINK =
    'mkdir sub && cd sub && git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && cd ..';
  const modules = (url: string) => `printf '[submodule "x"]\\n\\tpath = x\\n\\turl = ${url}\\n' > .gitmodules`;

  it.each([
    ['a gitlink', GITLINK, 'sub/ is a git repository or worktree of its own'],
    ['a .gitmodules', modules('https://example.com/x'), 'submodules may not be changed'],
    ['a .gitmodules whose address is an option', modules('-u./evil'), 'git does not accept its pack'],
  ])('%s is refused', (_what, change, why) => expectImportRefused(change, why));
});

describe('attacks 24, 28, incident patch-parser: a message with embedded commands', () => {
  it('passes no patch to git am, and forges no trailer, marker or escape', ({ landed }) => {
    const { repository, state, commitOf } = landed;
    const commit = commitOf('First');
    const message = repository.git('log', '-1', '--format=%B', commit);
    expect(message).not.toMatch(/^(?:diff --git|---|Signed-off-by|Co-authored-by|\(cherry)/m);
    expect(message).not.toMatch(/\[[^\]]*\b(?:skip|ci)\b|\*{3}|[#]\d|\p{Cf}|(?!\n)\p{Cc}/iu);
    const trailers = repository.git('log', '-1', '--format=%(trailers:only)', commit);
    const { id, key } = state.stories[0]!;
    const storyTrailers = [`Halo-Story: ${id}`, `Halo-Story-Key: ${key}`, 'Halo-Attempt: 1'];
    const asked = ['Halo-Agent: command', `Requested-by: ${state.user}`];
    expect(trailers.split('\n')).toEqual([`Halo-Run: ${state.runId}`, ...storyTrailers, ...asked]);
    expect(repository.git('log', '-1', '--format=%an <%ae> %cn', commit)).toBe('halo <halo@localhost> halo');
    const clone = tempDir('halo-am');
    execFileSync('git', ['clone', '-q', repository.root, clone]);
    const patch = execFileSync('git', ['format-patch', '-1', '--stdout', commit], { cwd: repository.root });
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', 'am', '-q'], { cwd: clone, input: patch });
    const applied = execFileSync('git', ['ls-files'], { cwd: clone, encoding: 'utf8' }).trim();
    expect(applied).toBe(repository.git('ls-tree', '-r', '--name-only', commit));
    expect(applied.split('\n')).not.toContain('evil');
  });
});

describe('attack 25: names that some file systems confuse with others', () => {
  it('a short name of .git is refused', ({ refused }) => expectRefused(refused, 'a short name of .git'));

  it.each([
    ['an escape in a name', `echo x > "$(printf 'a\\033[31mb')"`, 'control or invisible'],
    ['other letters for a file that is there', 'echo x > readme.md', 'cannot distinguish it from'],
    ['other letters for a folder that is there', 'mkdir SRC; echo x > SRC/b', 'cannot distinguish it from'],
    ['a direction character', `echo x > "$(printf 'a\\342\\200\\256b')"`, 'control or invisible'],
    ['a name of a device', 'echo x > aux.txt', 'reserved on Windows'],
    ['a trailing dot', 'echo x > name.', 'ends with a space or a dot'],
  ])('%s is refused', (_what, change, why) => expectImportRefused(change, why));
});

describe('attack 26, hazard 28: bombs', () => {
  it('bombs of files stop at the limit', () =>
    expectImportRefused('mkdir d; cd d; seq 10050 | xargs touch', 'more than 10000 files'));

  it('bombs of zeros stop at the size of a file', skipFor(belowFull()), ({ refused }) =>
    expectRefused(refused, 'a file of zeros'),
  );
});

describe('attacks 27, 37, incident dash-branch: ids that look like options, paths or refs', () => {
  it('are treated as text', ({ landed }) => {
    expect(landed.state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(landed.repository.git('for-each-ref', '--format=%(refname)').split('\n').sort()).toEqual([
      `refs/heads/${branchOfAttack(landed)}`,
      'refs/heads/main',
      'refs/notes/halo',
    ]);
    expect(existsSync(landed.wires.id)).toBe(false);
  });
});

describe('attack 29: refs of other users', () => {
  it('are not reachable for the agent: branches of its own checkout, the mirror, the host', ({ landed }) => {
    const { repository, state } = landed;
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('rev-list', '--count', 'main')).toBe('1');
    expect(repository.git('tag')).toBe('');
    const authors = repository.git('log', '--format=%an', `main..${branchOfAttack(landed)}`).split('\n');
    expect(authors).toEqual(Array(4).fill('halo'));
    expect(repository.git('status', '--porcelain')).toBe('');
  });
});

describe('attacks 30, 31, incident set-env: a verdict that the agent writes itself', () => {
  it('has no effect: result files, programs in its tree, PATH, a disabled gate', ({ halo, verdict: { state } }) => {
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
    expect(halo.readFile(state.runId, 'journal.jsonl')).toMatch(/"type":"gate.ended".*"exitCode":3/);
  });

  it('waits for approval if it is in the folder where npm looks up programs', ({ programs: { state } }) => {
    expect(state.stopReason).toBe('NEEDS_HUMAN');
    expect(state.stories[0]!.held?.paths).toContain('node_modules/.bin/sh');
  });

  it('is only text when it is printed: commands to CI, lines of the journal, markers of halo’s protocol', ({
    halo,
    verdict: { state },
  }) => {
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
    expect(state.detail).toContain('gate exited 3');
    const log = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/gates/1.log`);
    expect(log).toContain(FORGED_EVENT);
  });
});
