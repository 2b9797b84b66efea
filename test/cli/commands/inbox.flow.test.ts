import { afterAll, beforeAll, expect, describe, it } from 'vitest';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { asked, created } from '../../support/journal.ts';

const ASKING = '0tbq1aaaaaaaaaaa';
const HELD = '0tbq2bbbbbbbbbbb';
const LANDED = '0tbq3ccccccccccc';

let home: ScriptedHome;
beforeAll(() => {
  home = openScriptedHome();
});
afterAll(async () => {
  await home.remove();
});

const halo = (...words: string[]) => callHalo(words, { cwd: home.host.home, env: { HALO_HOME: home.host.home } });

describe('halo inbox', () => {
  it('says that nothing waits in a new home', async () => {
    expect(await halo('inbox')).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing waits for you.\n' });
    expect(JSON.parse((await halo('inbox', '--json')).stdout)).toEqual([]);
  });

  it('lists questions, approvals and results to land, each with the command that continues', async () => {
    await home.addRun([created(ASKING, 1), { type: 'run.started' }, ...asked('US-001')]);
    await home.addHeldRun(HELD);
    await home.addLandedRun(LANDED);
    const { code, stdout } = await halo('inbox');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(`answer +${ASKING} +US-001 +Which currency\\? +halo answer ${ASKING} --story US-001`),
    );
    expect(stdout).toMatch(new RegExp(`approval +${HELD} +US-001 .*halo diff ${HELD} --story US-001`));
    expect(stdout).toMatch(new RegExp(`land +${LANDED} .*halo land ${LANDED}`));
    const listed = JSON.parse((await halo('inbox', '--json')).stdout) as { kind: string }[];
    expect(listed.map(({ kind }) => kind).sort()).toEqual(['answer', 'approval', 'land']);
  });
});
