import * as z from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALL_OPERATIONS } from '../../../src/api/operations/all-operations.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';

let home: ScriptedHome;
let terminal: HaloHome;

beforeAll(async () => {
  home = openScriptedHome();
  terminal = openHome();
  for (const runId of ['landed01']) await home.addLandedRun(runId);
  for (const runId of ['heldrun1', 'heldrun2']) await home.addHeldRun(runId);
  for (const runId of ['running1', 'running2']) await home.addRunningRun(runId, 2);
});
afterAll(async () => {
  await terminal.close();
  await home.remove();
});

const same = (printed: unknown) => printed;

describe('the JSON that a command prints has the schema of its operation', () => {
  test.each<[command: string, operation: string, toOutput: (printed: unknown) => unknown]>([
    ['ls', 'listRuns', (runs) => ({ runs })],
    ['status', 'listRuns', (runs) => ({ runs })],
    ['status landed01', 'getRun', same],
    ['breaker list', 'listBreakers', (breakers) => ({ breakers })],
    ['snapshot ls', 'listSnapshots', (snapshots) => ({ snapshots })],
    ['snapshot rm --all', 'removeSnapshots', same],
    ['prune --dry-run', 'prune', same],
    ['prune --yes', 'prune', same],
    ['cost', 'reportCosts', same],
    ['errors', 'reportErrors', same],
    ['audit', 'reportAudit', same],
    ['land landed01', 'land', same],
    ['approve heldrun1 --story US-001', 'approve', same],
    ['reject heldrun2 --story US-001', 'reject', same],
    ['pause running1', 'pause', same],
    ['cancel running2', 'cancel', same],
  ])('halo %s --json: %s', async (command, name, toOutput) => {
    const operation = ALL_OPERATIONS.find((each) => each.name === name);
    if (operation?.output.kind !== 'json') throw new Error(`${name} is no operation that returns JSON`);
    const env = { HALO_HOME: home.host.home };
    const { code, stdout, stderr } = await terminal.halo([...command.split(' '), '--json'], {
      cwd: home.host.home,
      env,
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    operation.output.schema(z).parse(toOutput(JSON.parse(stdout)));
  });
});
