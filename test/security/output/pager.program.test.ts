import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startPager } from '../../../src/cli/output/terminal-programs.ts';
import { readPager } from '../../../src/config/environment/terminal-settings.ts';
import { readCorePager } from '../../../src/git/process/git-settings.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { leaveGitLauncher } from '../../support/suite/git-launcher.ts';

beforeAll(leaveGitLauncher);

let repository: TestRepository;
let folder: string;

beforeEach(() => {
  repository = newRepository();
  folder = tempDir('halo-pager');
  vi.stubEnv('GIT_CONFIG_GLOBAL', join(folder, 'global'));
  vi.stubEnv('GIT_CONFIG_SYSTEM', join(folder, 'system'));
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('incident repository-pager: a repository configures a program that shows its diffs', () => {
  it('is never run, in any folder that halo is started in', async () => {
    repository.git('config', 'core.pager', 'touch owned');
    vi.stubEnv('GIT_DIR', join(repository.root, '.git'));
    expect(await readCorePager()).toBeUndefined();
    writeFileSync(join(folder, 'global'), '[core]\n\tpager = less -S\n');
    expect(await readCorePager()).toBe('less -S');
  });
});

describe('the pager of the user', () => {
  it.each([
    [{ GIT_PAGER: 'a', PAGER: 'c' }, 'b', 'a'],
    [{ PAGER: 'c' }, 'b', 'b'],
    [{ PAGER: 'c' }, undefined, 'c'],
    [{ GIT_PAGER: '' }, 'b', undefined],
    [{ GIT_PAGER: 'cat', PAGER: 'c' }, 'b', undefined],
    [{ PAGER: 'cat' }, undefined, undefined],
  ])('the pager of %j and core.pager %j is %j', async (env, core, command) => {
    expect((await readPager(env, () => Promise.resolve(core)))?.command).toBe(command);
  });

  it('receives all output, and may exit early', async () => {
    const path = join(folder, 'shown');
    const pager = startPager({ command: `cat > ${path}`, env: process.env });
    pager.input.write('one\n');
    await pager.close();
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    const gone = startPager({ command: 'true', env: process.env });
    for (let index = 0; index < 100; index += 1)
      await new Promise<void>((resolve) => gone.input.write('x'.repeat(65_536), () => resolve()));
    await gone.close();
  });
});
