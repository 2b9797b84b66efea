import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HaloProcess } from '../../support/halo/halo-process.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { peakOf } from '../../support/faults/memory-of.ts';
import { NO_OP, openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

vi.setConfig({ testTimeout: 300_000 });

const TOKEN = 'a-token-of-this-test';
/** Far more than a connection holds. */
const OUTPUT_MIB = 40;
const NOISY = `agents.command.run=${JSON.stringify(`yes 0123456789 | head -c ${OUTPUT_MIB * 1024 * 1024}; ${NO_OP}`)}`;

describe('hazard 16: clients that do not read the log', skipFor(belowLevel(FULL)), () => {
  let world: World;
  let repository: TestRepository;
  let onTerminal: HaloProcess | undefined;

  beforeEach(() => {
    world = openWorld();
    repository = world.addRepository();
  });
  afterEach(async () => {
    // A stopped process would not receive the signal to end.
    onTerminal?.process.kill('SIGCONT');
    await world.close();
  });

  it('block no other client, use no growing memory in the API server, and miss nothing when they continue', async () => {
    const server = world.home.start(['serve', '--listen', '127.0.0.1:0'], {
      cwd: '/',
      env: { HALO_TOKEN: TOKEN },
    });
    await server.says('token ');
    const [, url = ''] = /^api\s+(\S+)$/m.exec(server.stdout()) ?? [];
    const runId = await world.submit(repository, [{ id: 'A' }], [NOISY]);
    const follow = async (what: string) => {
      const request = get(`${url}/v1/runs/${runId}/${what}?follow=true`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      return response.pause();
    };
    const readers = await Promise.all(['raw', 'raw', 'raw', 'events'].map(follow));
    onTerminal = world.home.start(['logs', runId, '-f', '--raw'], { cwd: '/' });
    onTerminal.process.kill('SIGSTOP');
    const before = peakOf(server.process.pid!);
    const worker = world.startWorker();
    await world.untilEnded(runId);
    expect(peakOf(server.process.pid!) - before, 'MiB more in the API server').toBeLessThan(2 * OUTPUT_MIB);
    await stopWorker(worker);

    const raw = readFileSync(join(world.home.dir, 'runs', runId, 'events.jsonl'));
    expect(raw.length).toBeGreaterThan(OUTPUT_MIB * 1024 * 1024);
    for (const reader of readers.slice(0, 3)) expect((await readRaw(reader)).equals(raw)).toBe(true);
    const events = (await readAll(readers[3]!)).toString().trim().split('\n');
    expect(events.filter((line) => line !== '')).toHaveLength(world.journal(runId).length);
    onTerminal.process.kill('SIGCONT');
    expect(Buffer.from((await onTerminal.ended).stdout).equals(raw)).toBe(true);
    server.process.kill('SIGTERM');
    await server.ended;
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
  });
});

async function readRaw(response: IncomingMessage): Promise<Buffer> {
  const lines = (await readAll(response)).toString().split('\n');
  const frames = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as { raw: string });
  return Buffer.concat(frames.map(({ raw }) => Buffer.from(raw, 'base64')));
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
