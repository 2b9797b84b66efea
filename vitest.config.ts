import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { FULL, LEVEL } from './test/support/suite/level.ts';

const REPORTERS = ['skip', 'attack', 'matrix', 'hazard', 'failure'];

/** Files that only `npm run test:full` runs. */
const OTHER_LEVEL = LEVEL >= FULL ? [] : ['**/*.full.*'];

/** A layer of the tests: the end of a file's name decides which one it belongs to. */
function layer(name: string, changes: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: [`test/**/*.${name}.test.ts`],
      exclude: OTHER_LEVEL,
      setupFiles: ['test/support/suite/file-setup.ts', `test/support/suite/${name}-setup.ts`],
      ...changes,
    },
  };
}

/** Most code of a test runs once: V8 optimizes a function later than by default. Later versions of Node refuse the option. */
const OPTIMIZE_LATE = process.version.startsWith('v20.') ? ['--interrupt-budget=400000'] : [];

export default defineConfig({
  test: {
    // A busy machine is several times slower. A condition that a test waits for gives up first, because its error says more.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 100_000 } },
    pool: 'forks',
    // A process loads the sources once for all of its files, instead of for each.
    isolate: false,
    execArgv: ['--max-semi-space-size=64', ...OPTIMIZE_LATE],
    experimental: { fsModuleCache: true },
    // On two cores: engines, Redis, processes and the browser wait for each other, and a third file uses the time. The layers
    // are one queue, in the order of their names: the units, which are short, fill the time of the last long files.
    maxWorkers: 3,
    reporters: ['default', ...REPORTERS.map((name) => `./test/support/reporters/${name}-reporter.ts`)],
    projects: [
      layer('unit', {
        include: ['test/**/*.test.ts'],
        exclude: ['**/*.program.*', '**/*.flow.*', '**/*.docker.*', ...OTHER_LEVEL],
      }),
      layer('program', {}),
      layer('flow', { globalSetup: 'test/support/suite/flow-engine.ts' }),
      layer('docker', { globalSetup: 'test/support/suite/docker-engine.ts' }),
    ],
  },
});
