import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findOutages, lastingOutages } from '../../../src/core/engine/engine-outage.ts';
import { lookForOutages } from '../../../src/features/engines/api/watch-outages.ts';
import { noteDrained } from '../../../src/store/drained-engines.ts';
import { readOutages } from '../../../src/store/engine-outages.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { tempDir } from '../../support/temp-dir.ts';

const at = (minute: number) => `2030-01-01T00:${String(minute).padStart(2, '0')}:00.000Z`;
const worker = (engine: string, away = false) => ({ ...{ id: 'any-1', host: 'h', pid: 1, version: '1', slots: 2, busy: 0 }, ...{ engine, away, draining: false } }); // prettier-ignore

describe('an outage of an engine', () => {
  it.each([
    ['one of its workers can run stories', [worker('a', true), worker('a')], []],
    ['it answers none of its workers', [worker('a', true)], ['away']],
    ['only other engines have workers', [worker('b')], ['no worker']],
  ])('exists or not if %s', (_when, workers, why) => {
    expect(findOutages([], { engines: ['a'], workers, now: at(0) }).map((outage) => outage.why)).toEqual(why);
  });

  it('keeps its beginning, also when its reason changes, and lasts after five minutes', () => {
    const first = findOutages([], { engines: ['a'], workers: [], now: at(0) });
    const later = findOutages(first, { engines: ['a'], workers: [worker('a', true)], now: at(5) });
    expect(later).toEqual([{ engine: 'a', since: at(0), why: 'away' }]);
    expect([lastingOutages(later, at(4)), lastingOutages(later, at(5))]).toEqual([[], later]);
  });

  it('begins now if the clock was ahead when it began', () => {
    const known = [{ engine: 'a', since: at(50), why: 'away' }] as const;
    expect(findOutages(known, { engines: ['a'], workers: [], now: at(10) })[0]?.since).toBe(at(10));
  });
});

it('the server records which engines take no stories, except drained ones and those that have not joined, and forgets those that return or are removed', async () => {
  const home = tempDir();
  const configure = (...names: string[]) =>
    writeFileSync(join(home, 'config.toml'), names.map((name) => `[[engines]]\nname = "${name}"\naddress = "${name === 'd' ? 'tcp://d:2376' : `unix:///${name}`}"\n`).join('')); // prettier-ignore
  const look = async (minute: number, ...workers: ReturnType<typeof worker>[]) => {
    await lookForOutages({ home, takingWorkers: () => Promise.resolve(workers) }, new Date(at(minute)));
    return (await readOutages(home)).map(({ engine, since }) => [engine, since]);
  };
  configure('a', 'b', 'c', 'd');
  await noteDrained(home, 'c', true);
  expect(await look(0, worker('b'))).toEqual([['a', at(0)]]);
  expect(await look(1)).toEqual([['a', at(0)], ['b', at(1)]]); // prettier-ignore
  const unknown = () => Promise.reject(new Error('Redis does not answer'));
  await expect(lookForOutages({ home, takingWorkers: unknown }, new Date(at(2)))).rejects.toThrow();
  expect(await look(3, worker('b'))).toEqual([['a', at(0)]]);
  // A server that was stopped knows nothing of the time since then.
  expect(await readOutages(home, Date.now() + 11 * 60_000)).toEqual([]);
  configure();
  expect(await look(4)).toEqual([]);
});

it('halo inbox lists an engine that takes no stories, with the command that says why', async () => {
  const outage = { engine: 'build-2', since: at(0), why: 'no worker' } as const;
  const operations = { ...openMemory(), listWorkers: () => Promise.resolve({ workers: [], outages: [outage] }) };
  const { stdout } = await runCli(['inbox', '--json'], { operations });
  const text = 'build-2 has no worker since 2030-01-01T00:00Z';
  expect(JSON.parse(stdout)).toEqual([{ kind: 'engine', text, next: 'halo engine check build-2' }]);
});
