import { appendFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { FORGES } from '../../../src/core/forge-name.ts';
import { exitCodeOf } from '../../../src/core/failure/stop-reason.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { FAKE_PROJECT, openFakeForge } from '../../support/forge/fake-forge.ts';
import { itInProcess as it, runIdOf, SOURCE, withAgent } from '../../support/forge/issue-home.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { OK } from '../../support/halo/halo.ts';

const LONG = { timeout: 180_000 };
/** Writes a file with the numbers of the issues in its prompt. */
const AGENT = `n=$(grep -o 'Issue [0-9]*' | head -n 1 | cut -c7-); echo "$n" > "$n.txt"; ${OK}`;
const RUN = ['run', '--source', SOURCE, ...withAgent(AGENT)];
const SUBMIT = ['submit', '--source', SOURCE, '-c', 'gates=[]'];
const NOTHING = exitCodeOf('NOTHING_RUNNABLE');

describe('a second run of the same issues', skipFor(belowFull()), () => {
  it(
    'works on the new ones alone, and continues from what the first run landed',
    LONG,
    async ({ forge, repository, command }) => {
      forge.add({ number: 3 });
      const first = runIdOf(await command(RUN));
      forge.add({ number: 5 });
      const end = await command(RUN);
      expect(end.code, end.stderr).toBe(0);
      expect(end.stdout + end.stderr).toContain(`Issues left out: #3 (done by run ${first}).`);
      const branch = `halo/${runIdOf(end)}`;
      expect(repository.git('rev-parse', `${branch}~1`)).toBe(repository.git('rev-parse', `halo/${first}`));
      expect(repository.git('ls-tree', '--name-only', branch).split('\n')).toEqual(
        expect.arrayContaining(['3.txt', '5.txt']),
      );
    },
  );

  it(
    'is refused with the run that landed them, also after a fast-forward, and works on them again with --again',
    LONG,
    async ({ forge, repository, haloHome, command }) => {
      forge.add({ number: 3 });
      const first = runIdOf(await command(RUN));
      const refusal = `error[NOTHING_RUNNABLE]: ${SOURCE} has no open issue with the label "halo" that is left to work on: #3 (done by run ${first}).`;
      const again = await command(RUN);
      expect(again).toMatchObject({ code: NOTHING, stderr: expect.stringContaining(refusal) as string });
      await command(['land', first]);
      repository.git('branch', '-D', `halo/${first}`);
      // The list of runs is made again from the journals.
      rmSync(join(haloHome.dir, 'issue-runs'), { recursive: true });
      expect(await command(RUN)).toMatchObject({ code: NOTHING, stderr: expect.stringContaining(refusal) as string });
      expect(haloHome.runIds()).toEqual([first]);
      repository.git('rm', '-q', '3.txt');
      repository.git('commit', '-q', '-m', 'Revert');
      const repeated = await command([...RUN, '--again']);
      expect(repeated.code, repeated.stderr).toBe(0);
      expect(haloHome.runIds()).toHaveLength(2);
    },
  );

  it('works again on an issue that was closed and reopened since it landed', LONG, async ({ forge, command }) => {
    const issue = forge.add({ number: 3, reopenedAt: '2020-01-01T00:00:00Z' });
    await command(RUN);
    expect((await command(RUN)).code).toBe(NOTHING);
    issue.reopenedAt = new Date(Date.now() + 60_000).toISOString();
    const end = await command(SUBMIT);
    expect(end.code, end.stderr).toBe(0);
  });

  it('works again on an issue that failed', LONG, async ({ forge, command }) => {
    forge.add({ number: 3 });
    const failing = ['run', '--source', SOURCE, ...withAgent('exit 1'), '-c', 'retry.attempts=1'];
    expect((await command(failing)).code).not.toBe(0);
    const end = await command(RUN);
    expect(end.code, end.stderr).toBe(0);
  });
});

describe('a second submit of the same issues', skipFor(belowFull()), () => {
  it('leaves out those of an open run, and names it', LONG, async ({ forge, command }) => {
    forge.add({ number: 3 });
    const runId = (await command(SUBMIT)).stdout.trim();
    const refused = await command(SUBMIT);
    expect(refused).toMatchObject({ code: NOTHING, stdout: '' });
    expect(refused.stderr).toContain(`#3 (in run ${runId}, which is queued)`);
    forge.add({ number: 4 });
    const end = await command(SUBMIT);
    expect(end.code, end.stderr).toBe(0);
    expect(end.stderr).toContain(`Issues left out: #3 (in run ${runId}, which is queued).`);
    await command(['cancel', runId]);
    expect((await command(SUBMIT)).stderr).toContain('Issues left out: #4');
  });

  it('creates no second run if it starts at the same time', LONG, async ({ forge, haloHome, repository }) => {
    forge.add({ number: 3 });
    const at = { cwd: repository.root, env: { TEST_FORGE_TOKEN: forge.token } };
    const ends = await Promise.all([1, 2, 3].map(() => haloHome.halo(SUBMIT, at)));
    expect(ends.map(({ code }) => code).sort()).toEqual([0, NOTHING, NOTHING]);
    expect(haloHome.runIds()).toHaveLength(1);
  });

  it('returns the run of the first if it has the same key', LONG, async ({ forge, command }) => {
    forge.add({ number: 3 });
    const keyed = [...SUBMIT, '--key', 'tonight'];
    const first = await command(keyed);
    forge.add({ number: 4 });
    const second = await command(keyed);
    expect(second.code, second.stderr).toBe(0);
    expect(second.stdout).toBe(first.stdout);
    expect((await command([...keyed, '--label', 'other'])).stderr).toContain('belongs to another submit');
  });

  it(
    'leaves out issues with a label that a halo on another machine set',
    LONG,
    async ({ forge, haloHome, command }) => {
      appendFileSync(join(haloHome.dir, 'config.toml'), '[issues.labels]\nlanded = "review"\n');
      forge.add({ number: 3, labels: ['halo', 'review'] });
      forge.add({ number: 4, labels: ['halo', 'halo:in-progress'] });
      const refused = await command(SUBMIT);
      expect(refused).toMatchObject({ code: NOTHING, stdout: '' });
      expect(refused.stderr).toContain('#3 (label "review"), #4 (label "halo:in-progress")');
      expect((await command([...SUBMIT, '--story', '#3', '--again'])).code).toBe(0);
    },
  );

  it.for(FORGES)(
    'leaves out those of an open run on %s',
    LONG,
    async (name, { haloHome, repository, onTestFinished }) => {
      const forge = await openFakeForge(name);
      onTestFinished(() => forge.close());
      const table = `[forge.${name}]\nurl = ${JSON.stringify(forge.url)}\ntoken_env = "TEST_FORGE_TOKEN"\n`;
      writeFileSync(join(haloHome.dir, 'config.toml'), table);
      const at = { cwd: repository.root, env: { HALO_HOME: haloHome.dir, TEST_FORGE_TOKEN: forge.token } };
      const words = ['submit', '--source', `${name}:${FAKE_PROJECT}`, '-c', 'gates=[]'];
      forge.add({ number: 3 });
      const runId = (await callHalo(words, at)).stdout.trim();
      forge.add({ number: 4 });
      const end = await callHalo(words, at);
      expect(end.stderr).toContain(`Issues left out: #3 (in run ${runId}, which is queued).`);
      expect(readdirSync(join(haloHome.dir, 'issue-runs'))).toHaveLength(1);
    },
  );
});

describe('the priority of issues', skipFor(belowFull()), () => {
  it('follows labels that begin with the label of the run', LONG, async ({ forge, haloHome, command }) => {
    const labels = ['hank'];
    forge.add({ number: 3, labels });
    forge.add({ number: 4, labels: ['hank', 'hank:p1'] });
    forge.add({ number: 5, labels: ['hank', 'hank:next'] });
    forge.add({ number: 6, labels: ['hank', 'halo:next'] });
    const end = await command([...SUBMIT, '--label', 'hank']);
    expect(end.code, end.stderr).toBe(0);
    const status = await command(['status', end.stdout.trim(), '--json']);
    const { stories } = (JSON.parse(status.stdout) as { state: { stories: { id: string }[] } }).state;
    expect(stories.map(({ id }) => id)).toEqual(['#5', '#4', '#3', '#6']);
    expect(haloHome.runIds()).toHaveLength(1);
  });
});

describe('halo prd validate --source', skipFor(belowFull()), () => {
  it(
    'shows the stories of the issues as a run would take them, and creates nothing',
    LONG,
    async ({ forge, haloHome, command }) => {
      forge.add({ number: 3, title: 'Later', body: '- [ ] It adds up\n' });
      forge.add({ number: 4, title: 'First', labels: ['halo', 'halo:next'] });
      forge.add({ number: 5, labels: ['halo', 'halo:done'] });
      const end = await command(['prd', 'validate', '--source', SOURCE]);
      expect(end.code, end.stderr).toBe(0);
      expect(end.stdout).toMatch(/stories {2}2: 2 open, 0 done[^]*\n#4 .* First\n#3 .* Later\n/);
      expect(end.stderr).toContain('Issues left out: #5 (label "halo:done").');
      expect(haloHome.runIds()).toEqual([]);
      expect(forge.log.every((line) => line.startsWith('GET '))).toBe(true);
      const both = await command(['prd', 'validate', 'prd.json', '--source', SOURCE]);
      expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('--source cannot be combined') as string });
      expect((await command(['prd', 'validate', '--source', SOURCE, '--label', 'none'])).code).toBe(NOTHING);
    },
  );
});
