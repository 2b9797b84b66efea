import { expect, it } from 'vitest';
import { asked, created } from '../../support/journal.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

const RUN = '0tbq1aaaaaaaaaaa';

async function answer(words: string[]) {
  const operations = openMemory();
  operations.addRun([created(RUN, 1), { type: 'run.started' }, ...asked('US-001')]);
  const result = await runCli(['answer', ...words], { operations, cwd: '/home/me/shop' });
  const { state } = await operations.getRun({ runId: RUN });
  return { ...result, given: state.stories[0]?.answered?.map(({ text }) => text) };
}

it.each([
  ['a text with a space', ['Use euros.'], 'Use euros.'],
  ['a run and a text', [RUN, 'Euro'], 'Euro'],
  ['the newest run and a text', ['@', 'Euro'], 'Euro'],
])('halo answer takes %s', async (_name, words, text) => {
  expect(await answer(words)).toMatchObject({ code: 0, given: [text] });
});

it.each([[[]], [['@']], [[RUN]]])('halo answer %j asks for a text', async (words) => {
  const result = await answer(words);
  expect(result).toMatchObject({ code: 2, given: undefined });
  expect(result.stderr).toContain('An answer is either a text or an option.');
});
