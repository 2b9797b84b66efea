import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { NO_USAGE } from '../../../src/core/agent.ts';
import type { Proof } from '../../../src/core/review/proof.ts';
import {
  compareFact,
  compareSettings,
  type ReferenceSettings,
} from '../../../src/features/evidence/worker/compare-proof.ts';
import { BASE, COMMIT } from '../../support/journal.ts';

const { config } = resolveConfig({ cwd: '/' });
const IMAGE = 'sha256:1';
const settings = { ...config, image: 'node:20', setup: ['npm ci'], gates: ['npm test'], env: { CI: '1' } };
const reference: ReferenceSettings = { origin: 'halo.toml', config: settings, imageId: IMAGE };
const proof: Proof = {
  ...{ v: 1, commit: COMMIT, base: BASE, tree: BASE, run: 'r', halo: '1.0.0' },
  story: { id: 'US-001', title: '', attempt: 1 },
  prd: { hash: '', specHash: '' },
  image: { name: 'node:20', id: IMAGE },
  agent: { name: 'codex' },
  setup: ['npm ci'],
  env: { CI: '1' },
  allow: [...config.network.allow],
  registries: [...config.network.registries],
  gates: [{ command: 'npm test', exitCode: 0, ms: 1, sha256: '' }],
  usage: NO_USAGE,
  startedAt: '2030-01-01T00:00:00Z',
  provenAt: '2030-01-01T00:01:00Z',
};

describe('compareSettings', () => {
  it('finds no difference between a proof and its own settings', () => {
    expect(compareSettings(proof, reference)).toEqual([]);
  });

  it.each<[string, Partial<Proof>, Partial<ReferenceSettings>, { what: string; recorded: string; found: string }]>([
    [
      'another image',
      {},
      { config: { ...settings, image: 'node:22' } },
      { what: 'image', recorded: 'node:20', found: 'halo.toml: node:22' },
    ],
    [
      'a rebuilt image',
      {},
      { imageId: 'sha256:2' },
      { what: 'image id', recorded: IMAGE, found: 'halo.toml: sha256:2' },
    ],
    ['a missing image', {}, { imageId: undefined }, { what: 'image id', recorded: IMAGE, found: 'halo.toml: none' }],
    [
      'another gate',
      {},
      { config: { ...settings, gates: ['npm run all'] } },
      { what: 'gate 1', recorded: 'npm test', found: 'halo.toml: npm run all' },
    ],
    [
      'an added gate',
      {},
      { config: { ...settings, gates: ['npm test', 'npm run lint'] } },
      { what: 'gate 2', recorded: 'none', found: 'halo.toml: npm run lint' },
    ],
    [
      'a removed setup command',
      {},
      { config: { ...settings, setup: [] } },
      { what: 'setup 1', recorded: 'npm ci', found: 'halo.toml: none' },
    ],
    ['another variable', { env: { CI: '0' } }, {}, { what: 'env CI', recorded: '0', found: 'halo.toml: 1' }],
    ['a report file', { reports: ['a.xml'] }, {}, { what: 'reports', recorded: 'a.xml', found: 'halo.toml: none' }],
    [
      'a fault of the file',
      {},
      { fault: 'halo.toml is damaged' },
      { what: 'settings', recorded: '', found: 'halo.toml is damaged' },
    ],
  ])('finds %s', (_name, record, current, row) => {
    expect(compareSettings({ ...proof, ...record }, { ...reference, ...current })).toEqual([{ ...row, ok: false }]);
  });

  it('ignores the order of hosts', () => {
    const allow = ['b.example:443', 'a.example:443'];
    const network = { ...settings.network, allow: [...allow].reverse() };
    expect(compareSettings({ ...proof, allow }, { ...reference, config: { ...settings, network } })).toEqual([]);
  });
});

describe('compareFact', () => {
  it('is ok if both values are equal', () => {
    expect(compareFact('tree', 'a', 'a').ok).toBe(true);
    expect(compareFact('tree', 'a', 'b').ok).toBe(false);
  });
});
