import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { initConfig } from '../../../src/api/repository/init-config.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

let home: string;
beforeEach(() => void (home = tempDir('halo-home')));

const NODE = { 'package.json': '{"scripts": {"test": "x"}}' };
const FIX_PLAN = '# Plan\n\n- [ ] Add the cart\n';
const versionsIn = () => Promise.resolve(new Map<string, string>());
const host = () => hostOf(home);

async function init(files: Record<string, string>) {
  const { root } = newRepository(files);
  const made = await initConfig({ host: host(), folder: root, force: false, versionsIn });
  return { ...made, text: readFileSync(made.path, 'utf8') };
}

describe('incident imported-config: files of another tool in a repository', () => {
  test('are read as text: nothing in them is executed, and values that a shell would compute are not used', async () => {
    const marker = join(home, 'executed');
    const text = [
      `CLAUDE_TIMEOUT_MINUTES=$(touch ${marker}; echo 5)`,
      `RETRY_MAX_ATTEMPTS=\`touch ${marker}\``,
      `RETRY_BACKOFF_MAX_SEC="\${X:-$(touch ${marker})}"`,
      `RETRY_BACKOFF_INITIAL_SEC=9; touch ${marker}`,
      'RETRY_BACKOFF_MULTIPLIER=99',
      `touch ${marker}`,
    ].join('\n');
    const { imported, text: written } = await init({ ...NODE, '.hankrc': text });
    expect(existsSync(marker)).toBe(false);
    expect(imported).toEqual([
      '.hankrc: no settings',
      '.hankrc: not a plain value in its limits: CLAUDE_TIMEOUT_MINUTES, RETRY_MAX_ATTEMPTS, RETRY_BACKOFF_MAX_SEC, RETRY_BACKOFF_INITIAL_SEC, RETRY_BACKOFF_MULTIPLIER',
    ]);
    expect(written).not.toContain('attempts');
  });

  test('are not read through links out of the repository, and nothing is written through them', async () => {
    const repository = newRepository(NODE);
    const outside = tempDir('halo outside');
    writeFileSync(join(outside, 'rc'), 'RETRY_MAX_ATTEMPTS=7\n');
    writeFileSync(join(outside, 'fix_plan.md'), FIX_PLAN);
    symlinkSync(join(outside, 'rc'), join(repository.root, '.hankrc'));
    symlinkSync(outside, join(repository.root, '.hank'));
    const made = await initConfig({ host: host(), folder: repository.root, force: false, versionsIn });
    expect(made).toMatchObject({ agent: 'codex', tasks: 0, imported: [], files: ['halo.toml'] });
    const other = newRepository({ ...NODE, '.hank/fix_plan.md': FIX_PLAN });
    symlinkSync(outside, join(other.root, '.halo'));
    const writing = initConfig({ host: host(), folder: other.root, force: false, versionsIn });
    await expect(writing).rejects.toMatchObject({ code: 'USAGE' });
    expect([existsSync(join(outside, 'prds')), existsSync(join(other.root, 'halo.toml'))]).toEqual([false, false]);
  });

  test.each([
    ['binary', '\u0000\u0001\u0002'],
    ['a task that is empty', '- [ ] \n- [ ]   \n'],
    ['huge', `- [ ] ${'x'.repeat(5 * 1024 * 1024)}\n`],
    ['one very long line of assignments', `A=${'"'.repeat(60_000)}`],
  ])('do not stop halo init if they are %s', async (_what, content) => {
    const before = performance.now();
    const { tasks, files } = await init({ ...NODE, '.hankrc': content, '.ralph/fix_plan.md': content });
    expect({ tasks, files }).toEqual({ tasks: 0, files: ['halo.toml'] });
    expect(performance.now() - before).toBeLessThan(10_000);
  });
});
