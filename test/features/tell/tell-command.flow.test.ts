import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created, passed } from '../../support/journal.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

const RUN = 'tell0001';

let home: ScriptedHome;
beforeAll(async () => {
  home = openScriptedHome();
  await home.addRunningRun(RUN, 2);
});
afterAll(() => home.remove());

const tell = (...words: string[]) => tellIn(RUN, ...words);
const tellIn = (run: string, ...words: string[]) =>
  callHalo(['tell', run, ...words], { cwd: home.host.home, env: { HALO_HOME: home.host.home } });

describe('halo tell', () => {
  it('prints where a message goes before it is sent, and afterwards what has become of it', async () => {
    const where = 'The message to story US-001 will be in the prompt of the next attempt, if there is one.';
    const sent = await tell('Use euros, please.');
    expect(sent).toMatchObject({ code: 0, stdout: `sent  ${RUN}  to story US-001\n` });
    expect(sent.stderr.split('\n')[0]).toBe(where);
    const repeated = await tell('US-001', 'Use euros, please.');
    expect(repeated.stdout).toBe(`as before  ${RUN}  Story US-001 has this message already.\n`);
    const shown = await tell();
    expect(shown.stdout).toMatch(new RegExp(`^${where}\n\\S+Z  \\S+, in the next prompt: Use euros, please\\.\n$`));
  });

  it.each<[string, string[], number, string]>([
    ['of an unknown story', ['US-9', 'Use euros.'], 2, 'has no story "US-9"'],
    ['without text', ['US-001', ' '], 2, 'The message is empty.'],
  ])('refuses a message %s', async (_, words, code, says) => {
    const refused = await tell(...words);
    expect(refused.code).toBe(code);
    expect(refused.stderr).toContain(says);
  });

  it('shows a story whose id has a space: that is not a text', async () => {
    const { prd, ...first } = created('tell0002', 1);
    const stories = prd.stories.map((story) => ({ ...story, id: 'Story 1' }));
    await home.addRun([{ ...first, prd: { ...prd, stories } }, { type: 'run.started' }]);
    const shown = await tellIn('tell0002', 'Story 1');
    expect(shown).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The message to story Story 1 ') as string,
    });
    expect((await home.operations.getRun({ runId: 'tell0002' })).state.stories[0]!.messages).toBeUndefined();
  });

  it('promises nothing for a story on which no agent will work', async () => {
    await home.addRun([created('tell0003', 2), { type: 'run.started' }, ...passed('US-001')]);
    const shown = await tellIn('tell0003', 'US-001');
    expect(shown.stdout).toMatch(/^Story US-001 has passed: no agent works on it\.\n/);
    expect(shown.stdout).not.toContain('next attempt');
    const asJson = await tellIn('tell0003', 'US-001', '--json');
    expect(JSON.parse(asJson.stdout)).toEqual({ story: 'US-001', route: null, messages: [] });
    const refused = await tellIn('tell0003', 'US-001', 'Use euros.');
    expect(refused.code).toBe(6);
    expect(refused.stderr).not.toContain('next attempt');
  });
});
