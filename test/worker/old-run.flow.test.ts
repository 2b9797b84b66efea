import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLocal } from '../../src/api/local.ts';
import type { Operations } from '../../src/api/operations.ts';
import type { Host } from '../../src/config/config.ts';
import { applyDefaults } from '../../src/config/apply-defaults.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { startWorker } from '../../src/worker/main.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import type { TestRepository } from '../support/repository/repository.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hostOf } from '../support/halo/host.ts';
import { newRepository } from '../support/repository/new-repository.ts';

/** What the first halo knew; everything else came later. */
const FIRST = ['agent', 'agentCommand', 'setup', 'gates', 'image', 'env', 'model', 'limits', 'git', 'workspace'];

let host: Host;
let repository: TestRepository;
let operations: Operations;

/** Submits a run and changes the configuration in its run.json before a worker sees it. */
async function submitted(change: (config: Record<string, unknown>) => void): Promise<string> {
  const set = scripted(`echo hello > greeting; ${OK}`, ['grep hello greeting']);
  const request = { prd: prdOf([{ id: 'A' }]), repos: [repository.root], profile: undefined, set, allowDirty: false };
  const [{ runId } = { runId: '' }] = await operations.submit(request);
  const path = join(host.home, 'runs', runId, 'run.json');
  const record = JSON.parse(readFileSync(path, 'utf8')) as { config: Record<string, unknown> };
  change(record.config);
  writeFileSync(path, JSON.stringify(record));
  return runId;
}

/** A worker takes the run to its end. */
async function workOn(runId: string): Promise<void> {
  const worker = await startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) });
  for await (const { type } of operations.follow(runId, { after: 0, follow: true })) if (type === 'run.ended') break;
  await worker.close();
}

describe('a run that was submitted before', () => {
  beforeEach(() => {
    const home = tempDir('halo-home');
    host = hostOf(home);
    repository = newRepository();
    operations = openLocal({ host });
  });
  afterEach(async () => {
    await operations.close();
  });

  test('hazard 38: a run that an older halo submitted is executed, landed and shown', async () => {
    const runId = await submitted((config) => {
      for (const key of Object.keys(config)) if (!FIRST.includes(key)) delete config[key];
    });
    await workOn(runId);
    expect((await operations.get(runId)).state).toMatchObject({ stopReason: 'SUCCESS' });
    expect((await operations.diff(runId, undefined)).toString()).toContain('+hello');
    expect(await operations.land(runId)).toMatchObject({ branch: 'main' });
  });

  test('a run that has lost its settings ends with the reason, and no unchecked commit lands', async () => {
    const runId = await submitted((config) => {
      for (const key of Object.keys(config)) delete config[key];
    });
    await workOn(runId);
    const { state } = await operations.get(runId);
    expect(state).toMatchObject({ stopReason: 'INFRASTRUCTURE', tip: repository.git('rev-parse', 'main') });
    expect(state.detail).toContain('the settings of the run are gone');
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
  });
});

const current = resolveConfig({
  set: ['model.key_file=/key', 'limits.pids=99', 'prices={"gpt-5.5"={input=1,output=2}}'],
  cwd: '/',
}).config;

test('the stored configuration stays unchanged', () => {
  const stored = JSON.parse(JSON.stringify(current)) as unknown;
  expect(applyDefaults(stored)).toEqual(current);
});

test.each(keysOf(current))('a configuration without %s gets the default there, and nothing else is changed', (key) => {
  const stored = JSON.parse(JSON.stringify(current)) as Record<string, unknown>;
  const [table, member] = key.split('.') as [string, string | undefined];
  if (member === undefined) delete stored[table];
  else delete (stored[table] as Record<string, unknown>)[member];
  const completed = applyDefaults(stored);
  expect(keysOf(completed)).toEqual(
    expect.arrayContaining(keysOf(current).filter((each) => !each.startsWith('model.'))),
  );
  expect(completed).toMatchObject(stored);
});

/** Of the tables and their members that JSON can hold, but for those that every halo wrote. */
function keysOf(config: object): string[] {
  return Object.entries(JSON.parse(JSON.stringify(config)) as object).flatMap(([key, value]) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
    const members = Object.keys(value as object).map((member) => `${key}.${member}`);
    return ['model', 'prices', 'env'].includes(key)
      ? members.filter((name) => /allow|timing/.test(name))
      : [key, ...members];
  });
}
