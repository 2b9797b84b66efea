import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { RunView } from '../../src/api/operations.ts';
import type { JournalEvent } from '../../src/core/events.ts';
import { OK, prdOf, scripted } from '../support/halo.ts';
import { openHome, type HaloHome, type HaloProcess } from '../support/halo-process.ts';
import { makeRepository, type TestRepository } from '../support/repository.ts';

let home: HaloHome;
let repository: TestRepository;
let at: { cwd: string };

beforeEach(() => {
  home = openHome();
  repository = makeRepository();
  repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }]).bytes).toString());
  at = { cwd: repository.root };
});
afterEach(async () => {
  await home.close();
  repository.remove();
});

function journal(runId: string): JournalEvent[] {
  const text = readFileSync(join(home.dir, 'runs', runId, 'journal.jsonl'), 'utf8');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JournalEvent]));
}

async function submit(script: string): Promise<string> {
  const settings = scripted(script).flatMap((setting) => ['-c', setting]);
  return (await home.halo(['submit', 'prd.json', ...settings], at)).stdout.trim();
}

async function worker(): Promise<HaloProcess> {
  const started = home.start(['worker', '--concurrency', '1'], at);
  await started.says('working on');
  return started;
}

const starts = (runId: string) => journal(runId).filter(({ type }) => type === 'story.started').length;
const untilAgent = (runId: string, nth: number) =>
  vi.waitFor(
    () => {
      const agents = journal(runId).filter((event) => event.type === 'phase.started' && event.phase === 'agent');
      expect(agents.length).toBe(nth);
    },
    { timeout: 60_000, interval: 50 },
  );

it(
  'the first SIGTERM hands the story back at no cost, deploy after deploy, and it is done in the end',
  { timeout: 240_000 },
  async () => {
    const runId = await submit(`sleep 5; echo x >> x; ${OK}`);
    for (const nth of [1, 2, 3]) {
      const deployed = await worker();
      await untilAgent(runId, nth);
      deployed.process.kill('SIGTERM');
      expect((await deployed.ended).code).toBe(0);
      const returned = journal(runId).filter(({ type }) => type === 'story.returned');
      expect(returned).toHaveLength(nth);
    }
    await worker();
    await vi.waitFor(() => expect(journal(runId).at(-1)?.type).toBe('run.ended'), { timeout: 90_000, interval: 200 });
    const { state } = JSON.parse((await home.halo(['status', runId, '--json'], at)).stdout) as RunView;
    expect(state).toMatchObject({ stopReason: 'SUCCESS', epoch: 4, stories: [{ attempts: 1, starts: 0 }] });
    expect(starts(runId)).toBe(4);
  },
);

it('the second signal ends a worker at once, and status says that nobody works on the run', async () => {
  const runId = await submit(`sleep 60; ${OK}`);
  const stopped = await worker();
  await untilAgent(runId, 1);
  stopped.process.kill('SIGTERM');
  await stopped.says('stopping in good order');
  stopped.process.kill('SIGTERM');
  expect((await stopped.ended).code).toBe(130);
  const status = await home.halo(['status', runId], at);
  expect(status.stdout).toContain('no worker is running: start one with `halo worker`');
  expect((await home.halo(['status'], at)).stderr).toContain('no worker is running');
  expect((await home.halo(['land', runId], at)).stderr).toContain('start one with `halo worker`');
  await home.halo(['pause', runId], at);
  expect((await home.halo(['status', runId], at)).stdout).toMatch(/paused by .+: `halo resume/);
  const cancelled = await home.halo(['cancel', runId], at);
  expect(cancelled).toMatchObject({ code: 0, stdout: `cancelled  ${runId}  It is cancelled; nothing had landed.\n` });
});
