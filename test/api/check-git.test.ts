import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkGit } from '../../src/api/check-git.ts';

const PATH = process.env.PATH;
let dir: string;
// The program is looked for once in a process.
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'halo-git-'));
});
afterAll(() => {
  process.env.PATH = PATH;
  rmSync(dir, { recursive: true });
});

/** A git that says so of itself. */
function install(version: string): void {
  writeFileSync(join(dir, 'git'), `#!/bin/sh\necho 'git version ${version}'\n`, { mode: 0o755 });
  process.env.PATH = `${dir}:${PATH}`;
}

describe('`halo doctor`', () => {
  it.each(['2.37.9', '2.30.2', '1.8.3.1'])(
    'warns of git %s, which cannot merge without a checkout',
    async (version) => {
      install(version);
      expect(await checkGit()).toEqual({
        name: 'git',
        ok: 'warn',
        says: `${version} cannot put together what stories of a run did at once`,
        mend: 'install git 2.38 or newer, or leave run.parallel at 1',
      });
    },
  );

  it.each(['2.38.0', '2.39.3 (Apple Git-146)', '3.0.0'])('is content with git %s', async (version) => {
    install(version);
    expect(await checkGit()).toEqual({ name: 'git', ok: 'ok', says: version });
  });
});
