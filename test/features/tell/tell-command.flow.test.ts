import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

const RUN = 'tell0001';

let home: ScriptedHome;
beforeAll(async () => {
  home = openScriptedHome();
  await home.addRunningRun(RUN, 2);
});
afterAll(() => home.remove());

const tell = (...words: string[]) =>
  callHalo(['tell', RUN, ...words], { cwd: home.host.home, env: { HALO_HOME: home.host.home } });

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
});
