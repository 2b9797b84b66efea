import { mkdirSync, realpathSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { created } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';

const RUN = '0tbq4m8k7xw2dhe';
let folder: string;
let home: string;

beforeEach(() => {
  folder = realpathSync(tempDir('halo-resume'));
  home = join(folder, 'home');
  mkdirSync(join(home, 'runs', RUN), { recursive: true });
});

/** `halo run --resume`, of a run that is done, in `cwd`. */
function resume(run: string, { cwd = folder, apiUrl }: { cwd?: string; apiUrl?: string } = {}) {
  const operations = openMemory();
  operations.addRun([created(RUN, 0), { type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
  // What else a resumed run needs does not matter here.
  const getRun = operations.getRun.bind(operations);
  operations.getRun = async (input) => {
    const { state, ...view } = await getRun(input);
    const repo = { ...state.repo, source: 'https://git.example.com/shop.git' };
    return { ...view, state: { ...state, repo }, record: { config: { gates: ['npm test'] }, prd: {} } };
  };
  const services = {
    readHost: () => Promise.resolve({ home, redisUrl: undefined, apiUrl, apiToken: undefined }),
  };
  return runCli(['run', '--resume', run], { operations, services, cwd });
}

describe('halo run --resume', () => {
  it.each([
    ['id', () => RUN],
    ['start of an id', () => RUN.slice(0, 8)],
    ['directory', () => join(home, 'runs', RUN)],
    ['directory with a slash', () => `${join(home, 'runs', RUN)}/`],
    ['directory, from here', () => `home/runs/${RUN}`],
  ])('accepts the %s', async (_what, run) => {
    expect(await resume(run())).toMatchObject({ code: 0, stderr: '' });
  });

  it('accepts the directory that it is started in', async () => {
    expect(await resume('.', { cwd: join(home, 'runs', RUN) })).toMatchObject({ code: 0 });
  });

  it('accepts a link to a run directory, also one without a slash in its name', async () => {
    symlinkSync(join(home, 'runs', RUN), join(folder, 'latest'));
    expect(await resume('latest')).toMatchObject({ code: 0 });
    expect(await resume('./latest')).toMatchObject({ code: 0 });
  });

  it('accepts a run directory that is a link to another disk, and a home that is one', async () => {
    renameSync(join(home, 'runs', RUN), join(folder, 'moved'));
    symlinkSync(join(folder, 'moved'), join(home, 'runs', RUN));
    expect(await resume(join(home, 'runs', RUN))).toMatchObject({ code: 0 });
    symlinkSync(home, join(folder, 'other-home'));
    expect(await resume(join(folder, 'other-home/runs', RUN))).toMatchObject({ code: 0 });
  });

  it('accepts the directory that the server of the run reported', async () => {
    expect(await resume(`/srv/halo/runs/${RUN}`, { apiUrl: 'http://halo.test' })).toMatchObject({ code: 0 });
  });

  it.each([
    ['a path elsewhere', () => join(folder, RUN), 'is not a run directory below'],
    ['a file of a run', () => join(home, 'runs', RUN, 'run.json'), 'is not a run directory below'],
    ['all runs', () => join(home, 'runs'), 'is not a run directory below'],
    ['an id that is none', () => 'zzz', 'No run matches'],
  ])('refuses %s', async (_what, run, says) => {
    const { code, stdout, stderr } = await resume(run());
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
  });
});
