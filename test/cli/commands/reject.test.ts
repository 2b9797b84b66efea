import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { created, held } from '../../support/journal.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli, type CliOptions } from '../../support/terminal/cli-world.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const folder = mkdtempSync(join(tmpdir(), 'halo-reject-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function reject(words: string[], options: Partial<CliOptions> = {}) {
  const operations = openMemory();
  operations.addRun([created(RUN, 1), { type: 'run.started' }, ...held('US-001')]);
  operations.readDiff = () => Promise.resolve(Buffer.from('+a line\n'));
  const result = await runCli(['reject', RUN, '--story', 'US-001', ...words], { operations, ...options });
  const { state } = await operations.getRun({ runId: RUN });
  return { ...result, story: state.stories[0]! };
}

describe('halo reject with feedback', () => {
  it('sends the text and the comments, each a place and a text', async () => {
    const words = ['--feedback', 'Smaller.', '--comment', 'a.ts:12-14', 'Why?', '--comment', 'b: c.ts', 'Rename.'];
    const { code, stdout, story } = await reject(words);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^sent back {2}US-001 {2}\w{7} {2}round 1 of at most 10\n/) as string,
    });
    expect(story).toMatchObject({
      progress: 'pending',
      feedback: [
        {
          text: 'Smaller.',
          comments: [
            { path: 'a.ts', text: 'Why?' },
            { path: 'b: c.ts', text: 'Rename.' },
          ],
        },
      ],
    });
  });

  it('reads the text from stdin, and the comments from a file', async () => {
    const file = join(folder, 'comments.json');
    writeFileSync(file, JSON.stringify([{ path: 'a.ts', line: 1, side: 'old', text: 'Keep it.' }]));
    const { story } = await reject(['--feedback-file', '-', '--comments', file], { stdin: 'From stdin.\n' });
    expect(story.feedback).toMatchObject([{ text: 'From stdin.', comments: [{ path: 'a.ts', text: 'Keep it.' }] }]);
  });

  it('opens the editor with the diff below a line, and sends what is above it', async () => {
    const editFile = (path: string) => {
      const shown = readFileSync(path, 'utf8');
      expect(shown).toContain('+a line');
      writeFileSync(path, `Edited.\n${shown}`);
      return Promise.resolve();
    };
    const { story } = await reject(['--edit'], { services: { editFile } });
    expect(story.feedback).toMatchObject([{ text: 'Edited.' }]);
  });

  it.each([
    [['--comment', 'a.ts:1'], '--comment needs a place and a text.'],
    [['--feedback', 'a', '--feedback-file', 'b'], 'The text is given more than once.'],
    [['--feedback', 'a', '--reason', 'b'], 'Feedback needs --story, and no --reason'],
    [['--comments', '/none.json'], 'The file /none.json does not exist.'],
  ])('refuses %j', async (words, message) => {
    const { code, stderr, story } = await reject(words);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(story.held).toBeDefined();
  });
});
