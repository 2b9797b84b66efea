import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created, passed } from '../../support/journal.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

/** A run that starts from the result of another one, whose change a person has not accepted. */

const [FIRST, SECOND] = ['0tbq1aaaaaaaaaaa', '0tbq2bbbbbbbbbbb'];
const HIDDEN = { characters: 1, lines: 1, files: 1, places: ['evil.txt:1'] };

let home: ScriptedHome;
let repository: TestRepository;
let commits: Record<string, string>;

beforeEach(async () => {
  home = openScriptedHome();
  repository = newRepository();
  commits = {};
  for (const [runId, file] of [
    [FIRST, 'evil.txt'],
    [SECOND, 'good.txt'],
  ] as const) {
    repository.git('checkout', '-q', '-b', `halo/${runId}`);
    repository.write(file, 'text\n');
    commits[runId] = repository.commit(`Add ${file}.\n\nHalo-Run: ${runId}`);
  }
  repository.git('checkout', '-q', 'main');
  await updateMirror({
    ...{ home: home.host.home, name: 'shop-1' },
    ...{ from: join(repository.root, '.git'), commit: commits[SECOND]! },
  });
  await addRun(SECOND, commits[FIRST]!);
});
afterEach(() => home.remove());

async function addRun(
  runId: string,
  base: string,
  more: JournalEntry[] = [],
  needsApproval?: true,
  { mirror = 'shop-1', commit = commits[runId]! } = {},
) {
  const repo = { source: repository.root, mirror, branch: 'main', base };
  const story = passed('US-001').flatMap((entry) =>
    entry.type === 'story.ended' ? [...more, { ...entry, commit }] : [entry],
  );
  const end: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories passed' };
  const first = { ...created(runId, 1), repo, ...(needsApproval && { needsApproval }) };
  await home.addRun([first, { type: 'run.started' }, ...story, end]);
}

const land = (confirm: 'hidden'[] = []) =>
  home.operations.land({ runId: SECOND, ...(confirm.length > 0 ? { confirm, commit: commits[SECOND]! } : {}) });

/** The files of the branch on which runs land. */
const onMain = () => repository.git('ls-tree', '--name-only', 'main').split('\n');

describe('incident continued-run: a run that started from the result of another run', () => {
  it('does not land what a person rejected, also if the branch of the other run has moved or is gone', async () => {
    const { tip } = { tip: commits[FIRST]! };
    await addRun(FIRST, repository.git('rev-parse', 'main'));
    await home.append(FIRST, { type: 'run.rejected', by: 'ann', tip, reason: 'no' });
    repository.git('branch', '-qD', `halo/${FIRST}`);
    await expect(land()).rejects.toMatchObject({
      code: 'LAND_REFUSED',
      message: `ann rejected the result of run ${FIRST}, which run ${SECOND} continues: no`,
    });
    expect(onMain()).not.toContain('evil.txt');
    repository.git('remote', 'add', 'origin', 'https://github.com/acme/shop.git');
    writeFileSync(join(home.host.home, 'config.toml'), '[forge.github]\ntoken_env = "TOKEN"\n');
    await expect(home.operations.requestPull({ runId: SECOND })).rejects.toThrow(
      `ann rejected the result of run ${FIRST}, which run ${SECOND} continues: no`,
    );
    await home.append(FIRST, { type: 'run.approved', by: 'ann', tip });
    await land();
    expect(onMain()).toEqual(expect.arrayContaining(['evil.txt', 'good.txt']));
  });

  it('is not kept from landing by the name of a run of another repository in the message of a commit', async () => {
    await addRun(FIRST, repository.git('rev-parse', 'main'), [], undefined, {
      mirror: 'bank-1',
      commit: '1'.repeat(40),
    });
    await home.append(FIRST, { type: 'run.rejected', by: 'ann', tip: '1'.repeat(40), reason: 'salaries' });
    await land();
    expect(onMain()).toEqual(expect.arrayContaining(['evil.txt', 'good.txt']));
  });

  it('does not land while the decisions about the other run cannot be read', async () => {
    await addRun(FIRST, repository.git('rev-parse', 'main'));
    writeFileSync(join(home.host.home, 'runs', FIRST, 'journal.jsonl'), 'damaged\n');
    await expect(land()).rejects.toMatchObject({ code: 'RUN_UNREADABLE' });
    expect(onMain()).not.toContain('evil.txt');
  });

  it('does not land what a person rejected in another clone, also if the story has another commit since', async () => {
    await updateMirror({
      ...{ home: home.host.home, name: 'clone-1' },
      ...{ from: join(repository.root, '.git'), commit: commits[SECOND]! },
    });
    const tip = commits[SECOND]!;
    await addRun(FIRST, repository.git('rev-parse', 'main'), [], undefined, { mirror: 'clone-1', commit: tip });
    await home.append(FIRST, { type: 'run.rejected', by: 'ann', tip, reason: 'no' });
    await expect(land()).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    expect(onMain()).not.toContain('evil.txt');
  });

  it('asks also if people have merged a pull request of the other run that did not have the commit yet', async () => {
    const ref = { story: 'US-001', attempt: 1 };
    const merge = (head: string) => home.append(FIRST, { type: 'pull.closed', number: 1, merged: true, head });
    await addRun(FIRST, repository.git('rev-parse', 'main'), [{ type: 'hidden.added', ...ref, hidden: HIDDEN }]);
    await home.append(FIRST, { type: 'pull.opened', number: 1, url: 'https://forge.test/1' });
    await merge(repository.git('rev-parse', 'main'));
    await expect(land()).rejects.toMatchObject({ code: 'UNCONFIRMED' });
    await merge(commits[FIRST]!);
    await land();
    expect(onMain()).toContain('evil.txt');
  });

  it('asks for what the change of the other run is flagged for', async () => {
    const ref = { story: 'US-001', attempt: 1 };
    await addRun(FIRST, repository.git('rev-parse', 'main'), [{ type: 'hidden.added', ...ref, hidden: HIDDEN }]);
    await expect(land()).rejects.toMatchObject({
      code: 'UNCONFIRMED',
      hint: expect.stringContaining(`halo diff ${FIRST}`) as string,
    });
    expect(onMain()).not.toContain('evil.txt');
    await land(['hidden']);
    expect(onMain()).toContain('evil.txt');
  });

  it.each<[command: 'land' | 'pr', noted: JournalEntry, warning: string, flag: string]>([
    [
      'land',
      { type: 'hidden.added', story: 'US-001', attempt: 1, hidden: HIDDEN },
      'US-001: adds 1 hidden character in 1 file: evil.txt:1',
      'hidden',
    ],
    [
      'pr',
      { type: 'secrets.suspected', story: 'US-001', attempt: 1, suspects: [{ path: 'k.txt', names: ['a token'] }] },
      'US-001: k.txt adds a token',
      'secret',
    ],
  ])('is in the question of halo %s at a terminal', async (command, noted, warning, flag) => {
    await addRun(FIRST, repository.git('rev-parse', 'main'), [noted]);
    repository.git('remote', 'add', 'origin', 'https://github.com/acme/shop.git');
    writeFileSync(join(home.host.home, 'config.toml'), '[forge.github]\ntoken_env = "TOKEN"\n');
    const words = [command, SECOND, ...(command === 'pr' ? ['--no-wait'] : [])];
    const person = (answer: string) => ({ ask: () => Promise.resolve(answer) });
    const decide = (options: object) =>
      runCli(words, { operations: home.operations, cwd: repository.root, ...options });
    const alone = await decide({});
    expect(alone).toMatchObject({ code: 6, stderr: expect.stringContaining(`--confirm ${flag}`) as string });
    const refused = await decide(person('no'));
    expect(refused.stderr).toContain(`warning: run ${FIRST}, ${warning}\n`);
    expect(refused.stderr).toMatch(new RegExp(`Nothing was .*halo diff ${FIRST}`, 's'));
    expect(refused.code).toBe(6);
    const accepted = await decide(person('y'));
    expect(accepted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(?:landed|requested) /) as string });
  });
});
