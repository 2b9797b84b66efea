import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';
import { addProbeResults } from '../../support/suite/probed-engine.ts';
import { tempDir } from '../../support/temp-dir.ts';

let home: HaloHome;

afterEach(() => home.close());

it(
  'hazard 68: a restored home that runs beside its original is refused on one machine; elsewhere, no story lands twice',
  { timeout: 300_000 },
  async () => {
    home = openHome();
    const repository = newRepository();
    repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }, { id: 'B' }]).bytes).toString());
    const [original, copy] = [home.dir, join(tempDir('halo-copy'), 'home')];
    const at = (dir: string) => ({ cwd: repository.root, env: { HALO_TAKEOVER: '3s', HALO_HOME: dir } });
    await home.start(['worker', '--concurrency', '2'], at(original)).says('running up to');
    const script = `story=$(grep -oE 'Story [A-Z]+' | head -n 1); echo x >> "$story"; ${HOLD}; ${OK}`;
    const settings = scripted(script, ['true'], ['run.parallel=2']).flatMap((setting) => ['-c', setting]);
    const runId = (await home.halo(['submit', 'prd.json', ...settings], at(original))).stdout.trim();
    const journal = (dir: string) => readFileSync(join(dir, 'runs', runId, 'journal.jsonl'), 'utf8');
    const agents = (dir: string) => journal(dir).match(/"phase.started".*"agent"/g)?.length ?? 0;
    await vi.waitFor(() => expect(agents(original)).toBe(2), PATIENCE);

    const file = join(tempDir('halo-backups'), 'backup.tar.gz');
    expect(await home.halo(['backup', file], at(original))).toMatchObject({ code: 0 });
    const restore = ['restore', file, '--home', copy];
    const refused = await home.halo(restore, at(original));
    expect(refused.stderr).toContain(`${original} still exists on this machine`);
    expect(refused.code).toBe(6);
    expect(await home.halo([...restore, '--take-over'], at(original))).toMatchObject({ code: 0 });
    const stopped = await home.halo(['worker'], at(copy));
    expect(stopped.stderr).toContain(`is a copy of ${original}`);
    // As on another machine, where the place of the original does not exist.
    rmSync(join(copy, 'place'));
    addProbeResults(copy);
    await home.start(['worker', '--concurrency', '2'], at(copy)).says('running up to');
    await releaseUntil(
      () => [runId],
      () => {
        for (const dir of [original, copy]) expect(journal(dir)).toContain('"run.ended"');
      },
    );
    const landed = repository.git('log', '--format=%s', `main..halo/${runId}`).split('\n');
    // A story that the other home landed may end as a conflict; a retry finds its commit.
    expect(landed.length).toBeGreaterThan(0);
    expect(landed.sort()).toEqual([...new Set(landed)]);
  },
);
