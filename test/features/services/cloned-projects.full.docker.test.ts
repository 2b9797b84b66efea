import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OK } from '../../support/halo/halo.ts';
import { skipFor } from '../../support/skip.ts';
import { startPackageIndex, type PackageIndex } from '../../support/network/package-index.ts';
import { cloneProject } from '../../support/services/cloned-project.ts';
import { NODE_PROJECT } from '../../support/services/node-project.ts';
import { PACKAGES, PYTHON_PROJECT } from '../../support/services/python-project.ts';
import { ensurePythonImage } from '../../support/services/python-image.ts';
import { ensureServiceImage } from '../../support/services/service-images.ts';

/** Images, packages and databases, all of which wait for the disk. */
const LONG_MS = 1_800_000;

const lockPackages = (root: string) =>
  void execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: root, stdio: 'pipe' });
const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0;

describe('a clone of a Node project with PostgreSQL and migrations', () => {
  beforeAll(() => ensureServiceImage('postgres'), LONG_MS);

  test(
    'lands a story after halo init',
    async () => {
      const { halo, run, landed } = cloneProject(NODE_PROJECT, lockPackages);
      const { code, stdout, stderr } = await halo('init', '--yes');
      expect(code, stdout + stderr).toBe(0);
      // The agent has a database of its own, in which its tests leave a note.
      const ended = await run([{ id: 'A' }], `npm test && echo done > done.txt && ${OK}`);
      expect(ended.code, ended.stdout + ended.stderr).toBe(0);
      expect(landed('done.txt')).toBe('done');
    },
    LONG_MS,
  );
});

describe(
  'a clone of a Python project with MariaDB in its compose file',
  skipFor(!hasPip && 'python3 has no pip'),
  () => {
    let index: PackageIndex | undefined;
    let image = '';
    beforeAll(async () => {
      await ensureServiceImage('mariadb');
      image = await ensurePythonImage();
      index = await startPackageIndex(PACKAGES);
    }, LONG_MS);
    afterAll(() => index?.close());

    test(
      'lands a story after halo init and one edited line: the image with pip',
      async () => {
        const { home, halo, editLine, run, landed } = cloneProject(PYTHON_PROJECT);
        const machine = `images = [${JSON.stringify(image)}]\n[network.upstreams]\npypi = ${JSON.stringify(index?.url)}\n`;
        appendFileSync(join(home.dir, 'config.toml'), machine);
        const { code, stdout, stderr } = await halo('init', '--yes');
        expect(code, stdout + stderr).toBe(0);
        editLine('# image = "halo-sandbox"', `image = ${JSON.stringify(image)}`);
        const ended = await run([{ id: 'A' }], `.venv/bin/pytest && echo done > done.txt && ${OK}`);
        expect(ended.code, ended.stdout + ended.stderr).toBe(0);
        expect(landed('done.txt')).toBe('done');
      },
      LONG_MS,
    );
  },
);
