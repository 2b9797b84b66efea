import { expect, it } from 'vitest';
import type { SandboxExit } from '../../../src/sandbox/sandbox.ts';
import { describeExit, findExitFailure } from '../../../src/worker/attempt/attempt-outcome.ts';

const GIB = 1024 ** 3;
const limits = {
  cpus: 2,
  memoryBytes: 4 * GIB,
  pids: 512,
  files: 1024,
  fileBytes: GIB,
  diskBytes: 10 * GIB,
  freeDiskBytes: 2 * GIB,
  wallMs: 45 * 60_000,
  idleMs: 10 * 60_000,
  outputBytes: 64 * 1024 ** 2,
};
const EXIT: SandboxExit = { ended: 'exited', exitCode: 1, outOfMemory: 'no', forksRefused: false, ms: 1 };

it.each<[Partial<SandboxExit>, string, limit?: string]>([
  [{ ended: 'wall' }, 'ran longer than 45m (limits.wall): gate `npm test`', 'limits.wall'],
  [{ ended: 'idle' }, 'no output for 10m (limits.idle): gate `npm test`', 'limits.idle'],
  [{ ended: 'output' }, 'printed more than 64m (limits.output): gate `npm test`', 'limits.output'],
  [{ ended: 'disk' }, 'the workspace is larger than 10g (limits.disk): gate `npm test`', 'limits.disk'],
  // The setting of an operator: no run can change it.
  [{ ended: 'disk-floor' }, 'less than 2g (limits.free_disk) was left'],
  [{ outOfMemory: 'yes' }, 'ran out of memory (limits.memory = 4g): gate `npm test`', 'limits.memory'],
  [{ outOfMemory: 'maybe' }, 'probably for its memory (limits.memory = 4g): gate `npm test`', 'limits.memory'],
])('a command that ended with %j is reported with the limit and its value', (exit, text, limit) => {
  const end = findExitFailure({ ...EXIT, ...exit }, { what: 'gate `npm test`', limits }, '');
  expect(end?.outcome.summary).toContain(text);
  expect(end?.outcome.limit).toBe(limit);
});

it('a command that was refused further processes is reported in the same way', () => {
  expect(describeExit({ ...EXIT, forksRefused: true }, limits, '')).toContain('(limits.pids = 512)');
});
