import { expect, it } from 'vitest';
import type { SandboxExit } from '../../../src/sandbox/sandbox.ts';
import { describeExit, assertExited } from '../../../src/worker/attempt/attempt-outcome.ts';

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

it.each<[Partial<SandboxExit>, string]>([
  [{ ended: 'wall' }, 'ran longer than 45m (limits.wall): gate `npm test`'],
  [{ ended: 'idle' }, 'no output for 10m (limits.idle): gate `npm test`'],
  [{ ended: 'output' }, 'printed more than 64m (limits.output): gate `npm test`'],
  [{ ended: 'disk' }, 'the workspace is larger than 10g (limits.disk): gate `npm test`'],
  [{ ended: 'disk-floor' }, 'less than 2g (limits.free_disk) was left'],
  [{ outOfMemory: 'yes' }, 'ran out of memory (limits.memory = 4g): gate `npm test`'],
  [{ outOfMemory: 'maybe' }, 'probably for its memory (limits.memory = 4g): gate `npm test`'],
])('a command that ended with %j is reported with the limit and its value', (exit, text) => {
  expect(() => assertExited({ ...EXIT, ...exit }, { what: 'gate `npm test`', limits }, '')).toThrow(text);
});

it('a command that was refused further processes is reported in the same way', () => {
  expect(describeExit({ ...EXIT, forksRefused: true }, limits, '')).toContain('(limits.pids = 512)');
});
