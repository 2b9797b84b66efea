import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { checkGit as check } from '../../../src/api/doctor/checks.ts';
import { tempDir } from '../../support/temp-dir.ts';

const PATH = process.env.PATH;
let dir: string;
let checkGit: typeof check;
// A loaded module looks for git once: this file loads its own modules, and so do the files that follow in this process.
beforeAll(async () => {
  dir = tempDir('halo-git');
  vi.resetModules();
  ({ checkGit } = await import('../../../src/api/doctor/checks.ts'));
});
afterAll(() => {
  process.env.PATH = PATH;
  vi.resetModules();
});

/** A git that says so of itself. */
function install(version: string): void {
  writeFileSync(join(dir, 'git'), `#!/bin/sh\necho 'git version ${version}'\n`, { mode: 0o755 });
  process.env.PATH = `${dir}:${PATH}`;
}

describe('`halo doctor`', () => {
  it.each(['2.37.9', '2.30.2', '1.8.3.1'])(
    'warns about git %s, which cannot merge without a checkout',
    async (version) => {
      install(version);
      expect(await checkGit()).toEqual({
        name: 'git',
        ok: 'warn',
        says: `${version} cannot merge parallel stories of a run`,
        fix: 'install git 2.38 or newer, or leave run.parallel at 1',
      });
    },
  );

  it.each(['2.38.0', '2.39.3 (Apple Git-146)', '3.0.0'])('accepts git %s', async (version) => {
    install(version);
    expect(await checkGit()).toEqual({ name: 'git', ok: 'ok', says: version });
  });
});
