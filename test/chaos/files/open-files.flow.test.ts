import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { buildSources, type Built } from '../../support/halo/build.ts';
import { openHome } from '../../support/halo/halo-process.ts';
import { makeRepo, run } from '../../support/repository/git-fixture.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

const HAS_PRLIMIT = spawnSync('prlimit', ['--version']).status === 0;
const PLACES = ['prepare.before', 'agent.before', 'import.before', 'gates.before', 'objects.before', 'enqueue.before'];

/** The lowest number that no open file of a process has: with this limit, it can open nothing before it closes something. */
function firstFree(pid: string): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  for (let number = 0; ; number += 1) if (!open.has(number)) return number;
}

describe('hazard 60: a worker that may not open further files', skipFor(!HAS_PRLIMIT && 'needs prlimit'), () => {
  it.for(LEVEL < FULL ? [] : PLACES)(
    'from %s on: its stories wait, no attempt is used up, and the same worker continues',
    async (at) => {
      const world = openWorld();
      try {
        const repository = world.addRepository();
        const patient = ['retry.infrastructure.retries=100', 'breaker.same_error=100'];
        const settings = [...patient, 'retry.infrastructure.backoff="500ms"', 'snapshot.mode="off"'];
        const runId = await world.submit(repository, [{ id: 'A' }], settings);
        const worker = world.startWorker({ HALO_FAILPOINT: `${at}@1:delay=1000` });
        await worker.says(`failpoint ${at}`);
        const pid = String(worker.process.pid);
        const mayOpen = (files: number) => execFileSync('prlimit', ['--pid', pid, `--nofile=${files}:`]);
        mayOpen(firstFree(pid));
        // It may be unable to write even this into the journal.
        const said = () => worker.stderr().includes('too many files open');
        await vi.waitUntil(() => worker.process.exitCode !== null || said(), PATIENCE);
        expect(worker.process.exitCode, worker.stderr()).toBeNull();
        mayOpen(1024);
        await world.untilEnded(runId);
        const disturbed = world.journal(runId).filter((event) => event.type === 'story.disturbed');
        for (const event of disturbed) expect(event).toMatchObject({ class: 'infrastructure' });
        await stopWorker(worker);
        expect(worker.stderr()).not.toContain('is damaged');
        await tidyUp(world);
        await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
        const attempts = world.journal(runId).filter(({ type }) => type === 'story.ended');
        expect(attempts.map((event) => 'attempt' in event && event.attempt)).toEqual([1]);
      } finally {
        await world.close();
      }
    },
  );

  it('says so when it starts, whatever it cannot open first', async () => {
    const world = openWorld();
    try {
      // Builds what has changed in a checkout, which needs more.
      execFileSync('bin/halo', ['--version']);
      const bare = Number(execFileSync(process.execPath, ['-p', 'fs.readdirSync("/proc/self/fd").length']));
      // How many Node itself has open differs between machines by a few: with too few, it ends before halo's first line.
      const ends = await Promise.all(
        [-3, -2, -1, 0, 1, 2].map((more) => {
          const limit = bare + more;
          return world.startWorker({}, { via: ['prlimit', `--nofile=${limit}:${limit}`] }).ended;
        }),
      );
      const said = ends.filter(({ stderr }) => stderr.startsWith('error['));
      expect(said.length).toBeGreaterThanOrEqual(2);
      for (const end of said)
        expect(end).toMatchObject({
          stderr: expect.stringContaining('Raise the limit of open files (ulimit -n).') as string,
        });
      expect(ends.every(({ code }) => code !== 0)).toBe(true);
    } finally {
      await world.close();
    }
  });
});

describe('hazard 60: a server that may not open further files', skipFor(!HAS_PRLIMIT && 'needs prlimit'), () => {
  it('answers again when clients have left', async () => {
    const home = openHome();
    const clients: Socket[] = [];
    try {
      const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
      await server.says('token');
      const url = new URL(/http:\S+/.exec(server.stdout())?.[0] ?? '');
      const pid = String(server.process.pid);
      const open = readdirSync(`/proc/${pid}/fd`).length;
      execFileSync('prlimit', ['--pid', pid, `--nofile=${open + 5}:`]);
      for (let nth = 0; nth < 20; nth++)
        clients.push(connect(Number(url.port), url.hostname).on('error', () => undefined));
      const files = () => readdirSync(`/proc/${pid}/fd`).length;
      await vi.waitFor(() => expect(files()).toBeGreaterThanOrEqual(open + 4), PATIENCE);
      for (const client of clients) client.destroy();
      const status = async () => (await fetch(new URL('/healthz', url))).status;
      await vi.waitFor(async () => expect(await status()).toBe(200), PATIENCE);
      expect(server.process.exitCode).toBeNull();
    } finally {
      await home.close();
    }
  });
});

describe('hazard 60: a mirror, while few further files may be opened', skipFor(!HAS_PRLIMIT && 'needs prlimit'), () => {
  let built: Built;
  beforeAll(() => {
    built = buildSources('git/mirror/repair-mirror', 'core/failure/errors');
  });
  afterAll(() => built.remove());

  it('is not taken for damaged, whatever cannot be opened, and keeps its refs', async () => {
    const home = tempDir('halo-open-files');
    const root = join(home, 'src');
    const commit = makeRepo(root, { 'README.md': 'hello\n' });
    const from = join(root, '.git');
    const { dir } = await updateMirror({ home, name: 'm', from, commit });
    const refs = run(dir, ['for-each-ref']);
    const script = `
      import { openSync, closeSync } from 'node:fs';
      import { repairMirror } from ${JSON.stringify(built.module('git/mirror/repair-mirror'))};
      import { toHaloError } from ${JSON.stringify(built.module('core/failure/errors'))};
      const repair = () => repairMirror(${JSON.stringify({ home, name: 'm', from })}).catch((error) => toHaloError(error).code);
      const results = [await repair()];
      for (let left = 0; left < 24; left += 1) {
        const taken = [];
        try { for (;;) taken.push(openSync('/dev/null')); } catch {}
        for (const file of taken.splice(0, left)) closeSync(file);
        results.push(await repair());
        for (const file of taken) closeSync(file);
      }
      console.log(JSON.stringify(results));`;
    const limited = ['--nofile=64:64', process.execPath, '--input-type=module', '--eval', script];
    const { stdout, stderr } = spawnSync('prlimit', limited, { encoding: 'utf8' });
    const [before, ...results] = JSON.parse(stdout || `[${JSON.stringify(stderr)}]`) as unknown[];
    expect(before).toBe(false);
    expect(results).toHaveLength(24);
    expect(new Set(results)).toEqual(new Set(['DISK_FAILED', false]));
    expect(run(dir, ['for-each-ref'])).toBe(refs);
    expect(readdirSync(join(dir, '..'))).not.toContain('mirror.git.damaged');
  });
});
