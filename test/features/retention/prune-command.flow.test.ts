import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created, failed } from '../../support/journal.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const LANDED = '0tbq2bbbbbbbbbbb';

let home: ScriptedHome;
beforeAll(async () => {
  home = openScriptedHome();
  const end = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed' } as const;
  await home.addRun([created(RUN, 1), { type: 'run.started' }, ...failed('US-001'), end]);
  const { state } = await home.operations.getRun({ runId: RUN });
  home.writeArtifact(RUN, `${state.stories[0]!.key}/1/gates/1.log`, 'two tests failed\n');
  await home.addLandedRun(LANDED);
});
afterAll(async () => {
  await home.remove();
});

const halo = (...words: string[]) => callHalo(words, { cwd: home.host.home, env: { HALO_HOME: home.host.home } });
const SENTENCE = new RegExp(`Retention removed the artifacts of run ${RUN} on \\d{4}-\\d\\d-\\d\\d [\\d:]{8} UTC\\.`);

describe('halo prune', () => {
  it('says that no limit is set', async () => {
    expect(await halo('prune')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No limit is set') as string,
    });
  });

  it('has nothing to remove in a home that does not exist', async () => {
    const env = { HALO_HOME: join(home.host.home, 'none') };
    const { code, stderr } = await callHalo(['prune', '--runs', '0', '--yes'], { cwd: home.host.home, env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('There is nothing to remove.')]);
  });

  it.each([
    [['--older-than', 'soon'], 'It must be a duration'],
    [['--max-size', '1x'], 'It must be a size'],
    [['--runs', '-1'], 'It must be a whole number'],
    [['--runs', '1.5'], 'It must be a whole number'],
    [['--runs', '0'], 'needs confirmation'],
  ])('refuses %j', async (words, message) => {
    const { code, stderr } = await halo('prune', ...words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('shows what it would remove, and which runs stay for which reason', async () => {
    const { code, stdout, stderr } = await halo('prune', '--runs', '0', '--dry-run');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/0tbq1aaaaaaaaaaa +artifacts +[\d.]+[bk] +\d newer runs/),
    ]);
    expect(stderr).toContain(`${LANDED} stays: its commits have not landed on your branch`);
    expect((await halo('logs', RUN, '--gate', '1')).stdout).toBe('two tests failed\n');
  });

  it('removes after a confirmation, and other commands say so in one sentence', async () => {
    expect(await halo('prune', '--runs', '0', '--yes')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Removed ') as string,
    });
    for (const words of [
      ['logs', RUN, '--gate', '1'],
      ['diff', RUN, '--story', 'US-001'],
    ])
      expect(await halo(...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(SENTENCE) as string });
    for (const words of [
      ['show', RUN],
      ['logs', RUN, '--raw'],
    ])
      expect(await halo(...words)).toMatchObject({ code: 0, stderr: expect.stringMatching(SENTENCE) as string });
    expect((await halo('logs', RUN)).stdout).toMatch(/PRUNED +retention removed the artifacts on /);
    expect((await halo('audit', '--run', RUN)).stdout).toContain('retention removed the artifacts');
  });
});
