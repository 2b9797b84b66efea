import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** `npm run test:node` runs all units with them, and the quick start in a new clone. */
it.each(['22', '24'])('Node %s lands a story, and runs units', async (version) => {
  const node = await installNode(version);
  const home = openHome();
  const repository = newRepository({ 'prd.json': Buffer.from(prdOf([{ id: 'A' }]).bytes).toString() });
  try {
    const via = ['bash', '-c', `exec "${node}" "\${@:2}"`, 'bash'];
    const settings = scripted(`node --version > version; ${OK}`).flatMap((each) => ['-c', each]);
    const run = await home.halo(['run', 'prd.json', ...settings], { cwd: repository.root, via });
    expect(run, run.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('SUCCESS') as string });
  } finally {
    await home.close();
  }
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const options = { cwd: ROOT, reject: false, timeout: 200_000 };
  const units = await execa(node, [vitest, 'run', '--project', 'unit', 'test/core/run'], options);
  expect(units.exitCode, units.stdout + units.stderr).toBe(0);
});

/** The path of its program. npm has it as a package. */
async function installNode(version: string): Promise<string> {
  const dir = tempDir('halo-node');
  await execa('npm', ['install', '--no-save', '--prefix', dir, `node@${version}`]);
  const node = join(dir, 'node_modules/node/bin/node');
  expect((await execa(node, ['--version'])).stdout).toMatch(new RegExp(`^v${version}\\.`));
  return node;
}
