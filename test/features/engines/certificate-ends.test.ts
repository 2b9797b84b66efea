import { describe, expect, it } from 'vitest';
import { addEngine } from '../../../src/features/engines/api/add-engine.ts';
import { checkOwnCertificates, readCertificateGauges } from '../../../src/features/engines/api/certificate-ends.ts';
import { EngineKeys, SERVER_MS } from '../../../src/features/engines/store/engine-keys.ts';
import { createKey } from '../../../src/lib/network/certificate-authority.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { tempDir } from '../../support/temp-dir.ts';

const DAY_MS = 86_400_000;

async function homeWithEngine(): Promise<string> {
  const home = tempDir();
  await addEngine(home, { name: 'build-2', address: 'tcp://build-2:2376' });
  await new EngineKeys(home).certify('build-2', createKey().publicKey, 'build-2');
  return home;
}

describe('the ends of certificates', () => {
  it('are a metric: of each engine, of the authority and of the client', async () => {
    const before = Date.now();
    const [gauge] = await readCertificateGauges(await homeWithEngine());
    expect(gauge?.values.map(({ labels }) => labels)).toEqual([
      { certificate: 'authority' },
      { certificate: 'client' },
      { certificate: 'server', engine: 'build-2' },
    ]);
    const [authority = 0, client = 0, server = 0] = gauge!.values.map(({ value }) => value * 1000);
    expect(Math.abs(server - before - SERVER_MS)).toBeLessThan(DAY_MS);
    expect(Math.min(authority, client)).toBeGreaterThan(before + 4 * 365 * DAY_MS);
  });

  it('are not known without engines', async () => {
    expect((await readCertificateGauges(tempDir())).map(({ values }) => values)).toEqual([[]]);
  });

  it('of authority and client are reported by doctor a month before', async () => {
    const home = await homeWithEngine();
    expect(await checkOwnCertificates(home)).toEqual([]);
    const [{ end } = { end: new Date() }] = await new EngineKeys(home).ownEnds();
    const found = await checkOwnCertificates(home, new Date(end.getTime() - 10 * DAY_MS));
    expect(found.map(({ name, ok }) => [name, ok])).toEqual([
      ['engines: certificate authority', 'warn'],
      ['engines: client certificate', 'warn'],
    ]);
  });

  it.each([
    [10, /^The keys of this server are valid until \d{4}-\d\d-\d\d, (?:9|10) days: halo engine rekey\n$/],
    [100, /^$/],
  ])('of the keys of the server, in %i days, are noted by halo engine ls only if that is soon', async (days, note) => {
    const keysEnd = new Date(Date.now() + days * DAY_MS).toISOString();
    const engine = { name: 'build-2', address: 'tcp://build-2:2376', slots: 2, labels: [], joined: true, workers: [] };
    const operations = { ...openMemory(), listEngines: () => Promise.resolve({ engines: [engine], keysEnd }) };
    expect((await runCli(['engine', 'ls'], { operations })).stderr).toMatch(note);
  });
});
