import { expect, it } from 'vitest';
import { listRunSettings } from '../../src/config/output/run-settings.ts';

it('names the settings of a run by the keys of halo.toml, with the values that it accepts', () => {
  const config = {
    gates: ['npm test'],
    limits: { memoryBytes: 4 * 1024 ** 3, wallMs: 5_400_000 },
    retry: { maxWaitMs: 0 },
    env: { TZ: 'UTC' },
    unknown: 1,
  };
  expect(Object.fromEntries(listRunSettings(config))).toEqual({
    gates: '["npm test"]',
    'limits.memory': '"4g"',
    'limits.wall': '"1h30m"',
    'retry.max_wait': '"0s"',
    'env.TZ': '"UTC"',
  });
  expect(listRunSettings(undefined)).toEqual([]);
});
