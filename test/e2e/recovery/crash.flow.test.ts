import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterEach, expect, it, vi } from 'vitest';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

let home: HaloHome;
let repository: TestRepository;

afterEach(async () => {
  await home.close();
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
  'a worker killed in the middle of two stories of a run is replaced: one commit each, no attempt lost, nothing left behind',
  { timeout: 300_000 },
  async () => {
    home = openHome();
    repository = newRepository();
    repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }, { id: 'B' }]).bytes).toString());
    const at = { cwd: repository.root, env: { HALO_HOME: home.dir, HALO_TAKEOVER: '3s' } };
    const first = home.start(['worker', '--concurrency', '2'], at);
    await first.says('running up to');
    const script = `story=$(grep -oE 'Story [A-Z]+' | head -n 1); echo x >> "$story"; ${HOLD}; ${OK}`;
    const settings = scripted(script, ['true'], ['run.parallel=2']).flatMap((setting) => ['-c', setting]);
    const submitted = await callHalo(['submit', 'prd.json', ...settings], at);
    expect(submitted.stderr).not.toContain('error');
    const runId = submitted.stdout.trim();
    const journal = () => readFileSync(join(home.dir, 'runs', runId, 'journal.jsonl'), 'utf8');
    await vi.waitFor(() => expect(journal().match(/"phase.started".*"agent"/g)).toHaveLength(2), PATIENCE);
    first.process.kill('SIGKILL');
    await first.ended;
    expect(await belongings()).toBeGreaterThan(0);

    const second = home.start(['worker', '--concurrency', '2'], at);
    await vi.waitFor(() => expect(journal().match(/"phase.started".*"agent"/g)).toHaveLength(4), PATIENCE);
    await release(runId);
    await vi.waitFor(() => expect(journal()).toContain('"run.ended"'), PATIENCE);
    const status = await callHalo(['status', runId, '--json'], at);
    expect(JSON.parse(status.stdout)).toMatchObject({
      state: { stopReason: 'SUCCESS', epoch: 4, stories: [{ attempts: 1 }, { attempts: 1 }] },
    });
    const log = await callHalo(['logs', runId], at);
    expect(log.stdout.match(/attempt 1 again, because its worker died, on /g)).toHaveLength(2);
    const landed = repository.git('log', '--format=%s', `main..halo/${runId}`).split('\n');
    expect(landed.sort()).toEqual(['feat: [A] - Story A', 'feat: [B] - Story B']);
    // The next worker removes what the dead worker left.
    await vi.waitFor(async () => expect([await belongings(), folders()]).toEqual([0, []]), PATIENCE);
    second.process.kill('SIGTERM');
    await second.ended;
  },
);
