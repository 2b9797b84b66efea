import { defineConfig } from 'vitest/config';

// Real containers, Redis and git on as little as two cores: a third file uses the time in which two wait; more would only wait for each other.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/suite/probed-engine.ts',
    // A busy machine is several times slower. A condition that a test waits for gives up first, because its error says more.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 100_000 } },
    pool: 'forks',
    maxWorkers: 3,
    // A process loads the sources once for all of its files, instead of for each.
    isolate: false,
    setupFiles: 'test/support/suite/file-setup.ts',
    reporters: [
      'default',
      './test/support/reporters/skip-reporter.ts',
      './test/support/reporters/attack-reporter.ts',
      './test/support/reporters/matrix-reporter.ts',
      './test/support/reporters/hazard-reporter.ts',
      './test/support/reporters/failure-reporter.ts',
    ],
  },
});
