import { expect, it } from 'vitest';
import { created } from '../../support/journal.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

it.each([
  ['no worker', { workers: 0 }, '\n! waiting: no worker is running: start one with `halo worker`\n'],
  ['a label that no engine has', { workers: 0, engines: [] }, '\n! waiting: no engine with'],
  ['a worker', { workers: 1 }, undefined],
])('halo show says for what the stories of a run wait, with %s', async (_what, facts, waits) => {
  const memory = openMemory();
  memory.addRun([created('waiting001', 1)]);
  const getRun: typeof memory.getRun = async (...asked) => ({ ...(await memory.getRun(...asked)), ...facts });
  const { code, stdout } = await runCli(['show', 'waiting001'], { operations: { ...memory, getRun } });
  expect(code).toBe(0);
  if (waits === undefined) expect(stdout).not.toContain('waiting:');
  else expect(stdout).toContain(waits);
});
