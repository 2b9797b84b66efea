import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { prdOf } from '../../support/halo/halo.ts';
import { openMemory, type MemoryOperations } from '../../support/memory-operations.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

let folder: string;
let operations: MemoryOperations;

beforeAll(async () => {
  folder = tempDir('halo prompt ');
  await writeFile(join(folder, 'prd.json'), prdOf([{ id: 'A' }, { id: 'B', title: 'Bell\u0007' }]).bytes);
});
beforeEach(() => void (operations = openMemory()));

const prompt = (...words: string[]) => runCli(['prompt', 'prd.json', ...words], { operations, cwd: folder });

it('halo prompt prints the prompt on stdout, and its length and sections on stderr', async () => {
  const { code, stdout, stderr } = await prompt();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Implement one story of the project "Test" .*"A", and nothing beyond it\.\n/);
  expect(stderr).toMatch(
    /^A: \d+ tokens \(no limit\)\n  for codex\n +\d+ {2}task\n(.*\n)* +\d+ {2}guidance \(AGENTS\.md\)\n/,
  );
});

it('halo prompt names what a limit cuts, and prints no control characters', async () => {
  const { code, stdout, stderr } = await prompt('--story', 'B', '-c', 'prompt.max_tokens=800');
  expect(code).toBe(0);
  expect(stdout).toContain('B: Bell');
  expect(stdout).not.toContain('\u0007');
  expect(stderr).toMatch(/^B: \d+ tokens \(limit 800\)\n(.*\n)* +\d+ {2}guidance \(AGENTS\.md\), \d+ cut\n/);
});

it('halo prompt exits with 6 if the story does not fit, and with 2 for an unknown story', async () => {
  expect(await prompt('-c', 'prompt.max_tokens=10')).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(
      /error\[PROMPT_TOO_LARGE\]: The prompt of A has \d+ tokens; the limit is 10\./,
    ) as string,
  });
  expect(await prompt('--story', 'C')).toMatchObject({ code: 2, stdout: '' });
});

it('halo prompt --json prints all of it, and --prompt sets the text before it', async () => {
  const { stdout } = await prompt('--json');
  expect(JSON.parse(stdout)).toMatchObject({
    story: 'A',
    fits: true,
    maxTokens: 0,
    text: expect.any(String) as string,
  });
  await writeFile(join(folder, 'x.json'), prdOf([{ id: 'A' }]).bytes);
  await runCli(['submit', 'x.json', '--prompt', 'docs/engineer.md'], { operations, cwd: folder });
  expect(operations.submitted[0]?.set).toEqual(['prompt.before=docs/engineer.md']);
});
