import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RunView } from '../../../src/api/operations/runs.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let home: HaloHome;
let repository: TestRepository;
let at: { cwd: string };

beforeEach(() => {
  home = openHome();
  repository = newRepository();
  repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }]).bytes).toString());
  at = { cwd: repository.root };
});
afterEach(async () => {
  await home.close();
});

const settings = (script: string) => scripted(script).flatMap((setting) => ['-c', setting]);
/** What a process that left holds is taken over soon. */
const QUICK = { HALO_TAKEOVER: '3s' };
const quick = settings(`echo x >> x; ${OK}`);

const halo = (words: string[]) => callHalo(words, { ...at, env: { HALO_HOME: home.dir } });

async function viewOf(runId: string): Promise<RunView> {
  return JSON.parse((await halo(['status', runId, '--json'])).stdout) as RunView;
}

it('halo run executes only its own run', async () => {
  const waiting = (await halo(['submit', 'prd.json', ...quick])).stdout.trim();
  const own = await halo(['run', 'prd.json', ...quick]);
  expect(own.code).toBe(0);
  expect((await viewOf(waiting)).state).toMatchObject({ status: 'queued', epoch: 0 });
});

it('the run of a killed halo run is adopted by a worker, and not before', async () => {
  const worker = home.start(['worker', '--concurrency', '1'], { ...at, env: QUICK });
  await worker.says('running up to');
  const own = home.start(['run', 'prd.json', '--json', ...settings(`echo x >> x; ${HOLD}; ${OK}`)], {
    ...at,
    env: QUICK,
  });
  await own.says('"phase":"agent"');
  const { runId } = JSON.parse(own.stdout().split('\n')[0]!) as { runId: string };
  own.process.kill('SIGKILL');
  await own.ended;
  const journal = () => readFileSync(join(home.dir, 'runs', runId, 'journal.jsonl'), 'utf8');
  expect(journal().match(/"story\.started"/g)).toHaveLength(1);
  await releaseUntil(
    () => [runId],
    () => expect(journal()).toContain('"run.ended"'),
  );
  const { state } = await viewOf(runId);
  expect(state).toMatchObject({ stopReason: 'SUCCESS', epoch: 2, stories: [{ attempts: 1 }] });
  expect(repository.git('log', '--format=%s', `main..halo/${runId}`)).toBe('feat: [A] - Story A');
  worker.process.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});
