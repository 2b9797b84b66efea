import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { hideEngine } from './no-engine.ts';

hideEngine();

// A test that starts a program belongs to another layer.
for (const start of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const) {
  const refuse = (program: unknown) => {
    throw new Error(`A unit starts no program, but ${String(program)}: its file ends with .program.test.ts.`);
  };
  Object.assign(childProcess, { [start]: refuse });
}
syncBuiltinESMExports();
