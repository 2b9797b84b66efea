import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { composeServices } from '../../../src/cli/compose.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runCli, type CliOptions } from '../../support/terminal/cli-world.ts';

let folder: string;
beforeEach(() => {
  folder = tempDir('halo-list');
  writeFileSync(join(folder, 'shop.md'), '# Shop\n\n1. Add the cart\n2. Fix the critical bug\n3. [x] Set up\n');
});

const halo = (words: string[], more: Partial<CliOptions> = {}) =>
  runCli(['import', ...words], { operations: openMemory(), services: composeServices([]), cwd: folder, ...more });

describe('halo import --list', () => {
  it('shows the items as stories, and writes a PRD with the name of the file after a yes', async () => {
    const { code, stdout, stderr } = await halo(['shop.md', '--list'], { ask: () => Promise.resolve('y') });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(/US-002 +1 +Fix the critical bug\n/);
    expect(stderr).toContain('Wrote 3 stories');
    const prd = parsePrd(readFileSync(join(folder, 'prd.json')), 'prd.json');
    expect(prd).toMatchObject({ project: 'shop', warnings: [] });
    expect(prd.stories.map(({ title, priority, status }) => [title, priority, status])).toEqual([
      ['Add the cart', 2, 'pending'],
      ['Fix the critical bug', 1, 'pending'],
      ['Set up', 2, 'done'],
    ]);
  });

  it('writes nothing without a yes', async () => {
    expect((await halo(['shop.md', '--list'], { ask: () => Promise.resolve('n') })).code).toBe(4);
    expect(existsSync(join(folder, 'prd.json'))).toBe(false);
  });

  it.each([
    ['a PRD that exists', ['shop.md', '--list', '--yes', '--out', 'old.json'], 'old.json exists'],
    ['a document without items', ['empty.md', '--list', '--yes'], 'has no item of a list'],
    ['settings of an agent', ['shop.md', '--list', '--yes', '--agent', 'claude'], 'no agent runs'],
  ])('refuses %s', async (_what, words, message) => {
    writeFileSync(join(folder, 'old.json'), '{}');
    writeFileSync(join(folder, 'empty.md'), '# Nothing\n');
    const { code, stderr } = await halo(words);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
    expect(readFileSync(join(folder, 'old.json'), 'utf8')).toBe('{}');
    expect(existsSync(join(folder, 'prd.json'))).toBe(false);
  });
});
