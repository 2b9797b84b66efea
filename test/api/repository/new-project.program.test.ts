import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createProject } from '../../../src/api/repository/new-project.ts';
import { readConfig } from '../../../src/api/repository/repo-config.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { hostOf } from '../../support/halo/host.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

let parent: string;
beforeEach(() => void (parent = tempDir('halo new ä ')));

const git = (dir: string, ...args: string[]) => execFileSync('git', args, { cwd: dir, encoding: 'utf8' }).trim();

function halo(...words: string[]) {
  return runCli(['new', ...words], { operations: openMemory(), cwd: parent });
}

describe('halo new <folder>', () => {
  it('creates a clean repository with one commit, valid settings, a valid PRD and tests that pass', async () => {
    const { code, stdout, stderr } = await halo('My shöp', '--agent', 'claude');
    expect(code).toBe(0);
    const folder = join(parent, 'My shöp');
    expect(stdout).toContain(`created  ${folder}\n`);
    expect(stderr).toContain("cd 'My shöp' && halo check");
    expect(git(folder, 'status', '--porcelain', '--ignored')).toBe('');
    expect(git(folder, 'rev-list', '--count', 'HEAD')).toBe('1');
    const { config } = await readConfig({ host: hostOf(parent), folder, profile: undefined, set: [] });
    expect(config).toMatchObject({ agent: 'claude', gates: ['npm test'] });
    const prd = parsePrd(readFileSync(join(folder, 'prd.json')), 'prd.json');
    expect(prd).toMatchObject({ project: 'My shöp', warnings: [] });
    expect(prd.stories.every(({ acceptance }) => acceptance.length > 0)).toBe(true);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toMatch(/^# My shöp\n/);
    expect(readFileSync(join(folder, 'AGENTS.md'), 'utf8')).toContain('`npm test`');
    execFileSync('node', ['--test'], { cwd: folder });
    expect(readdirSync(parent)).toEqual(['My shöp']);
  });

  it('uses an empty folder, and refuses every other one without a change', async () => {
    mkdirSync(join(parent, 'empty'));
    expect((await halo('empty')).code).toBe(0);
    expect(existsSync(join(parent, 'empty/halo.toml'))).toBe(true);
    mkdirSync(join(parent, 'full'));
    writeFileSync(join(parent, 'full/.hidden'), '');
    writeFileSync(join(parent, 'file'), '');
    mkdirSync(join(parent, 'target'));
    symlinkSync('target', join(parent, 'link'));
    for (const name of ['full', 'file', 'link']) {
      const refused = await halo(name);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('is not an empty folder');
    }
    expect((await halo('missing/shop')).stderr).toContain(`There is no folder ${join(parent, 'missing')}.`);
    expect(readdirSync(join(parent, 'target'))).toEqual([]);
    expect(readdirSync(parent).sort()).toEqual(['empty', 'file', 'full', 'link', 'target']);
  });

  it('leaves nothing behind if it fails', async () => {
    const folder = join(parent, 'shop');
    const creating = createProject({ folder, agent: 'codex' });
    // Somebody else is faster.
    while (readdirSync(parent).length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    mkdirSync(folder);
    writeFileSync(join(folder, 'mine'), '');
    await expect(creating).rejects.toMatchObject({ code: 'USAGE' });
    expect(readdirSync(parent)).toEqual(['shop']);
    expect(readdirSync(folder)).toEqual(['mine']);
  });
});
