import { setTimeout as sleep } from 'node:timers/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHttp } from '../../src/api/http/http-client.ts';
import type { Operations } from '../../src/api/operations.ts';
import { OK, prdOf, remotelyScripted } from '../support/halo/halo.ts';
import { freePort } from '../support/network/free-port.ts';
import type { TestRepository } from '../support/repository/repository.ts';
import { skipFor } from '../support/skip.ts';
import { belowFull, FULL, LEVEL } from '../support/suite/level.ts';
import { tempDir } from '../support/temp-dir.ts';
import { newRepository } from '../support/repository/new-repository.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOKEN = 'a-token-for-this-test-only-0123456789';
let home: string;
let repository: TestRepository;
let operations: Operations;
let compose: (...args: string[]) => Promise<string>;

beforeAll(async () => {
  await execa(join(ROOT, 'bin/halo'), ['image', 'build']);
  await execa(join(ROOT, 'bin/halo'), ['image', 'build', '--server']);
  home = tempDir('halo-compose');
  repository = newRepository();
  const port = await freePort();
  const env = {
    HALO_HOME: home,
    HALO_REPOS: dirname(repository.root),
    HALO_TOKEN: TOKEN,
    HALO_LISTEN: `127.0.0.1:${port}`,
  };
  const [program, ...before] = await findCompose();
  const project = basename(home).toLowerCase();
  compose = async (...args) => {
    const all = [...before, '-f', join(ROOT, 'compose.yaml'), '-p', project, ...args];
    return (await execa(program!, all, { env, all: true })).all;
  };
  await compose('up', '-d', '--scale', `worker=${LEVEL < FULL ? 1 : 2}`);
  operations = await untilServed(`http://127.0.0.1:${port}`);
}, 600_000);

afterAll(async () => {
  await operations?.close();
  await compose?.('down', '--volumes', '--timeout', '0');
});

test('a story that is submitted to the services lands in the repository', async () => {
  const [submitted] = (
    await operations.submit({
      prd: prdOf([{ id: 'US-001' }]),
      repos: [repository.root],
      profile: undefined,
      set: remotelyScripted(`echo hello > hello.txt; ${OK}`, ['test -f hello.txt']),
      allowDirty: false,
    })
  ).runs;
  for await (const { event } of await operations.followEvents({ runId: submitted!.runId, after: 0, follow: true })) {
    if (event.type === 'run.ended') expect(event).toMatchObject({ stopReason: 'SUCCESS' });
  }
  expect(repository.git('show', `halo/${submitted!.runId}:hello.txt`)).toBe('hello');
});

/** Its container starts again. */
const KILL_ONE = ['exec', '-T', '--index=1', 'worker', 'sh', '-c', 'kill -9 -1'];

test(
  'hazard 41: two workers share the queue, and one that is killed is replaced by the other',
  skipFor(belowFull()),
  async () => {
    await expect.poll(async () => (await operations.listWorkers()).workers.length).toBe(2);
    const script = `date +%N > "$(grep -oE 'Story [A-Z]' | head -n 1)"; sleep 5; ${OK}`;
    const [submitted] = (
      await operations.submit({
        prd: prdOf([{ id: 'A' }, { id: 'B' }]),
        repos: [repository.root],
        profile: undefined,
        set: remotelyScripted(script, ['true']),
        allowDirty: false,
      })
    ).runs;
    const landed: string[] = [];
    for await (const { event } of await operations.followEvents({ runId: submitted!.runId, after: 0, follow: true })) {
      if (event.type === 'agent.launched' && event.story === 'A') await compose(...KILL_ONE);
      if (event.type === 'story.ended' && event.verdict === 'passed') landed.push(`${event.story} ${event.attempt}`);
    }
    expect(landed).toEqual(['A 1', 'B 1']);
  },
);

test('Redis persists its data, and never evicts a job', async () => {
  const settings = await compose('exec', '-T', 'redis', 'redis-cli', 'config', 'get', 'appendonly', 'maxmemory-policy');
  expect(settings.split(/\r?\n/)).toEqual(expect.arrayContaining(['yes', 'noeviction']));
});

async function findCompose(): Promise<string[]> {
  const { failed } = await execa('docker', ['compose', 'version'], { reject: false });
  return failed ? ['docker-compose'] : ['docker', 'compose'];
}

/** The client, once the API answers. Until it listens, the engine's own proxy takes connections, and may keep them. */
async function untilServed(url: string): Promise<Operations> {
  for (let tries = 0; ; tries++) {
    try {
      await fetch(url, { signal: AbortSignal.timeout(1_000) });
      return openHttp({ url, token: TOKEN });
    } catch (error) {
      if (tries === 100) throw new Error(`${url} does not answer:\n${await compose('logs')}`, { cause: error });
      await sleep(200);
    }
  }
}
