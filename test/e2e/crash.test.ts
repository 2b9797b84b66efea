import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterEach, expect, it, vi } from 'vitest';
import { OK, prdOf, scripted } from '../support/halo.ts';
import { openHome, type HaloHome } from '../support/halo-process.ts';
import { makeRepository, type TestRepository } from '../support/repository.ts';

let home: HaloHome;
let repository: TestRepository;

afterEach(async () => {
  await home.close();
  repository.remove();
});

async function belongings(): Promise<number> {
  const id = readFileSync(join(home.dir, 'id'), 'utf8').trim();
  const filters = { label: [`dev.halo.home=${id}`] };
  const docker = new Docker();
  const containers = await docker.listContainers({ all: true, filters });
  const { Volumes } = await docker.listVolumes({ filters: JSON.stringify(filters) });
  return containers.length + Volumes.length;
}

function folders(): string[] {
  const repos = join(home.dir, 'repos');
  const attempts = readdirSync(repos).flatMap((mirror) => readdirSync(join(repos, mirror, 'attempts')));
  return [...attempts, ...(existsSync(join(home.dir, 'sockets')) ? readdirSync(join(home.dir, 'sockets')) : [])];
}

it(
  'a worker killed in the middle of a story is replaced: one commit, no attempt lost, nothing left behind',
  { timeout: 180_000 },
  async () => {
    home = openHome();
    repository = makeRepository();
    repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }]).bytes).toString());
    const at = { cwd: repository.root };
    const first = home.start(['worker', '--concurrency', '1'], at);
    await first.says('working on');
    const settings = scripted(`echo x >> x; sleep 3; ${OK}`).flatMap((setting) => ['-c', setting]);
    const submitted = await home.halo(['submit', 'prd.json', ...settings], at);
    expect(submitted.stderr).not.toContain('error');
    const runId = submitted.stdout.trim();
    const journal = () => readFileSync(join(home.dir, 'runs', runId, 'journal.jsonl'), 'utf8');
    await vi.waitFor(() => expect(journal()).toContain('"phase":"agent"'), { timeout: 30_000 });
    first.process.kill('SIGKILL');
    await first.ended;
    expect(await belongings()).toBeGreaterThan(0);

    const second = home.start(['worker', '--concurrency', '1'], at);
    await vi.waitFor(() => expect(journal()).toContain('"run.ended"'), { timeout: 120_000, interval: 500 });
    const status = await home.halo(['status', runId, '--json'], at);
    expect(JSON.parse(status.stdout)).toMatchObject({
      state: { stopReason: 'SUCCESS', epoch: 2, stories: [{ attempts: 1 }] },
    });
    expect(repository.git('log', '--format=%s', `main..halo/${runId}`)).toBe('feat: [A] - Story A');
    // Whoever takes over sweeps what the dead worker left.
    await vi.waitFor(async () => expect([await belongings(), folders()]).toEqual([0, []]), { timeout: 20_000 });
    second.process.kill('SIGTERM');
    await second.ended;
  },
);
