import { defineConfig } from 'vitest/config';

// Real Docker, Redis and git share two cores here: files run one at a time where they start containers.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 300_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});
