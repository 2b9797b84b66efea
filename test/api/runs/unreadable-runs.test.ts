import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { created } from '../../support/journal.ts';
import { openScriptedHome } from '../../support/halo/scripted-home.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

it('hazard 55: a list names the runs whose journal cannot be read, and no folder that is not a run', async () => {
  const scripted = openScriptedHome();
  try {
    const { operations, host } = scripted;
    const [readable, damaged] = [await scripted.addRun([created()]), await scripted.addRun([created()])];
    writeFileSync(join(host.home, 'runs', damaged, 'journal.jsonl'), 'x\n');
    mkdirSync(join(host.home, 'runs', '1ng62b2sfav2p35'));
    const { runs, unreadable } = await operations.listRuns({});
    expect(runs.map(({ runId }) => runId)).toEqual([readable]);
    expect(unreadable).toEqual([{ runId: damaged, reason: expect.stringContaining('journal.jsonl') as string }]);
    const listed = await runCli(['ls'], { operations });
    expect(listed.stderr).toContain(`${damaged} is missing here: Could not read `);
  } finally {
    await scripted.remove();
  }
});
