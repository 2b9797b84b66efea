import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { registerWorker } from '../../../src/store/process-registry.ts';
import { openStore } from '../../../src/store/store.ts';
import { countWorkersFor, liveOwnerOf, openJobRanks } from '../../../src/worker/run/run-ownership.ts';
import { it } from '../../support/fixtures.ts';
import { attempted, created } from '../../support/journal.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };

describe('a run of a `halo run` process', () => {
  it('belongs to it while it lives, and to all workers afterwards', async ({ home }) => {
    const [own, any] = [await registerWorker(home, 'own'), await registerWorker(home, 'any')];
    expect(await liveOwnerOf(home, { owner: own.id })).toBe(own.id);
    expect(await countWorkersFor(home, { owner: own.id })).toBe(1);
    const second = await registerWorker(home, 'any');
    await own.leave();
    expect(await liveOwnerOf(home, { owner: own.id })).toBeUndefined();
    expect(await countWorkersFor(home, { owner: own.id })).toBe(2);
    await Promise.all([any, second].map((worker) => worker.leave()));
    expect(await countWorkersFor(home, { owner: own.id })).toBe(0);
  });

  it.for(['', '../../etc/passwd', 'own-0000', 'any-0123456789abcdef'])(
    'belongs to no process if its journal names %j as the owner',
    async (owner, { home }) => expect(await liveOwnerOf(home, { owner })).toBeUndefined(),
  );
});

describe('the rank of the jobs of a run', () => {
  it('is read from its journal each time', async ({ home }) => {
    const store = openStore(home, { transcribe: () => [] });
    const entry: JournalEntry & { type: 'run.created' } = {
      ...created(undefined, 1),
      ...{ user: 'ada', agent: 'codex', priority: 2 },
    };
    await store.createRun(entry, ORIGIN);
    const rankOf = openJobRanks(home, store);
    const rank = {
      lane: '',
      engines: ['local'],
      user: 'ada',
      agent: 'codex',
      priority: 2,
      started: false,
      repo: 'shop-1',
    };
    expect(await rankOf(entry.runId)).toEqual(rank);
    const own = await registerWorker(home, 'own');
    await store.append(entry.runId, [{ type: 'run.claimed', owner: own.id }, ...attempted('US-001')]);
    expect(await rankOf(entry.runId)).toEqual({ ...rank, lane: own.id, started: true });
    await own.leave();
    expect(await rankOf(entry.runId)).toEqual({ ...rank, started: true });
    writeFileSync(join(home, 'config.toml'), '[[engines]]\nname = "b"\naddress = "unix:///b"\nusers = ["ada"]\n');
    expect(await rankOf(entry.runId)).toMatchObject({ engines: ['local', 'b'] });
  });

  it('has the agent that its story, a route, or a provider that failed chooses', async ({ home }) => {
    const store = openStore(home, { transcribe: () => [] });
    const entry = { ...created(undefined, 3), agent: 'codex' };
    const stories = entry.prd.stories.map((story, index) =>
      index === 1 ? { ...story, extra: { labels: 'ui' } } : story,
    );
    const route = [{ label: 'ui', agent: 'gemini' }];
    const model = { api: 'openai', name: 'm', fallback: [] };
    const agents = { model, otherAgents: { claude: { model }, gemini: { model } }, fallback: ['claude'] };
    const config = { agent: 'codex', route, storyChoices: { 'US-001': { agent: 'claude' } }, ...agents };
    await store.createRun({ ...entry, prd: { ...entry.prd, stories } }, { ...ORIGIN, config });
    const rankOf = openJobRanks(home, store);
    const agentOf = async (ordinal: number) => (await rankOf(entry.runId, { ordinal, attempt: 1 })).agent;
    expect(await Promise.all([0, 1, 2, 3].map(agentOf))).toEqual(['claude', 'gemini', 'codex', 'codex']);
    await store.append(entry.runId, [
      ...attempted('US-003'),
      {
        ...{ type: 'story.postponed', story: 'US-003', attempt: 1, model: 'm', by: 'provider' },
        ...{ why: 'Codex failed.', notBefore: '2030-01-01T00:00:00.000Z', left: 'codex' },
      },
    ]);
    expect(await agentOf(2)).toBe('claude');
  });
});
