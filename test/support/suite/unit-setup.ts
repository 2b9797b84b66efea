import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { TestRunner } from 'vitest';
import { hideEngine } from './no-engine.ts';

hideEngine();

// A test that starts a program belongs to another layer.
for (const start of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const) {
  const refuse = (program: unknown) => {
    const error = new Error(`A unit starts no program, but ${String(program)}: its file ends with .program.test.ts.`);
    // A file that looks for a program before its tests may take this for a missing one, and skip them: the run fails instead.
    if (start.endsWith('Sync') && TestRunner.getCurrentTest() === undefined) void Promise.reject(error);
    throw error;
  };
  Object.assign(childProcess, { [start]: refuse });
}
syncBuiltinESMExports();
