import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openMachines, type Machines, type NoMachines } from '../../support/engines/machines.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

let home: HaloHome;
let opened: Machines<'build-1'> | NoMachines;

beforeAll(async () => {
  home = openHome();
  opened = await openMachines(['build-1']);
});
afterAll(async () => {
  await home.close();
  if ('machines' in opened) await opened.close();
});

it('a story is implemented, checked and landed by the engine of a machine that sees no folder of this one', async ({
  skip,
}) => {
  if ('missing' in opened) return skip(opened.missing);
  const machine = opened.machines['build-1'];
  const repository = newRepository({ 'a.txt': 'a\n', large: randomBytes(300_000).toString('hex') });
  expect(await machine.run(`ls -d ${home.dir} ${repository.root} 2>/dev/null || true`)).toBe('');
  const prd = join(tempDir(), 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
  const settings = scripted(`cat a.txt > b.txt; ${OK}`, ['grep -q a b.txt']).flatMap((setting) => ['-c', setting]);
  const ran = await home.halo(['run', prd, ...settings], { cwd: repository.root, env: machine.env });
  expect(ran).toMatchObject({ code: 0 });
  expect(repository.git('show', `halo/${home.runIds()[0]}:b.txt`)).toBe('a');
  const left = await machine.docker.listContainers({ all: true });
  expect(left).toEqual([]);
  const { Volumes: volumes } = await machine.docker.listVolumes();
  // The next story begins with what the engine has of the repository.
  expect(volumes.map(({ Labels }) => Labels?.['dev.halo'])).toEqual(['objects']);
});

it('an image is sent to an engine, compared there, and not sent again', async ({ skip }) => {
  if ('missing' in opened) return skip(opened.missing);
  const { address, certificates, docker } = opened.machines['build-1'];
  const files = ['ca', 'cert', 'key'].map((name) => `${name} = "${join(certificates, `${name}.pem`)}"`);
  writeFileSync(
    join(home.dir, 'config.toml'),
    ['[[engines]]', 'name = "build-1"', `address = "${address}"`, ...files].join('\n'),
  );
  const context = tempDir();
  writeFileSync(join(context, 'Dockerfile'), `FROM scratch\nENV MADE=${Date.now()}\nCOPY Dockerfile /\n`);
  execFileSync('docker', ['build', '-q', '-t', 'halo-test-pushed', context]);
  try {
    const push = (...words: string[]) => home.halo(['image', 'push', 'build-1', ...words], { cwd: context });
    const first = await push('halo-test-pushed');
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('build-1 has stored') as string });
    expect((await docker.getImage('halo-test-pushed').inspect()).Config.Env).toContainEqual(
      expect.stringMatching(/^MADE=/),
    );
    const again = await push('halo-test-pushed');
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('already has') as string });
    expect(again.stdout).toBe(first.stdout);
    expect(await push('no-such-image')).toMatchObject({ code: 5 });
    expect((await home.halo(['image', 'push', 'build-9'], { cwd: context })).stderr).toContain('There is no engine');
  } finally {
    execFileSync('docker', ['rmi', '-f', 'halo-test-pushed']);
  }
});
