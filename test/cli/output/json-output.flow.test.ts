import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/api/operations.ts';
import { prdOf } from '../../support/halo/halo.ts';
import { asked, created } from '../../support/journal.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';

let home: ScriptedHome;

beforeAll(async () => {
  home = openScriptedHome();
  writeFileSync(join(home.host.home, 'prd.json'), prdOf([{ id: 'A' }]).bytes);
  for (const runId of ['landed01']) await home.addLandedRun(runId);
  for (const runId of ['heldrun1', 'heldrun2']) await home.addHeldRun(runId);
  await home.addRun([created('asking01', 1), { type: 'run.started' }, ...asked('US-001')]);
  for (const runId of ['running1', 'running2']) await home.addRunningRun(runId, 2);
});
afterAll(() => home.remove());

type Name = keyof typeof OPERATIONS;

/** Operations whose result no command prints as JSON in this form. */
type Other =
  | (
      | 'followRuns'
      | 'followEvents'
      | 'followRaw'
      | 'readDiff'
      | 'readArtifact'
      | 'readMetrics' // not JSON
    )
  | (
      | 'listArtifacts'
      | 'readLog'
      | 'searchLog'
      | 'followLog'
      | 'reportBudgets'
      | 'readSettings'
      | 'readDoctor'
      | 'describeApi' // parts of other commands, or of the API
    )
  | (
      | 'validatePrd'
      | 'previewPrompt'
      | 'submit'
      | 'submitBatch'
      | 'submitIssues' // printed in another form
    )
  // need a recorded attempt, an open breaker, the id of a token, an endpoint, or a forge
  | ('requestPull' | 'replay' | 'resetBreaker' | 'revokeToken' | 'testEndpoint' | 'retryEndpoint')
  | ('drainWorker' | 'resumeWorker'); // need a worker: test/api/runs/drain-worker.flow.test.ts

/** How the commands of each other operation are called, in an order in which all of them succeed. */
const COMMANDS: Record<Exclude<Name, Other>, readonly string[]> = {
  listRuns: ['ls', 'status'],
  getRun: ['status landed01'],
  listBreakers: ['breaker list'],
  listWorkers: ['worker ls'],
  listEngines: ['engine ls'],
  listModels: ['models --all'],
  listSnapshots: ['snapshot ls'],
  removeSnapshots: ['snapshot rm --all'],
  prune: ['prune --dry-run', 'prune --yes'],
  reportCosts: ['cost'],
  reportQuality: ['cost --quality'],
  reportErrors: ['errors'],
  estimatePrd: ['estimate prd.json'],
  reportAudit: ['audit'],
  land: ['land landed01'],
  approve: ['approve heldrun1 --story US-001'],
  reject: ['reject heldrun2 --story US-001'],
  pause: ['pause running1'],
  resume: ['resume running1'],
  cancel: ['cancel running2'],
  retry: ['retry running2'],
  answer: ['answer asking01 Euro'],
  tell: ['tell running2 US-001 Euro'],
  addUser: ['user add ada --role viewer'],
  createToken: ['user token ada'],
  changeUser: ['user set ada --role operator'],
  listUsers: ['user ls'],
  readAccessLog: ['user log'],
  removeUser: ['user rm ada'],
  listEndpoints: ['hooks ls'],
  listDeliveries: ['hooks log'],
};

/** What commands print without the name of the list. */
const TO_OUTPUT: Partial<Record<Name, (printed: unknown) => unknown>> = {
  listRuns: (runs) => ({ runs }),
  listBreakers: (breakers) => ({ breakers }),
  listWorkers: (workers) => ({ workers, outages: [] }),
  listEngines: (engines) => ({ engines }),
  listSnapshots: (snapshots) => ({ snapshots }),
  listUsers: (users) => ({ users }),
  listEndpoints: (endpoints) => ({ endpoints }),
  listDeliveries: (deliveries) => ({ deliveries }),
  readAccessLog: (events) => ({ events }),
  addUser: (printed) => (printed as { user: unknown }).user,
};

describe('the JSON that a command prints has the schema of its operation', () => {
  const calls = Object.entries(COMMANDS).flatMap(([name, commands]) =>
    commands.map((command) => [command, name as Name] as const),
  );
  test.each(calls)('halo %s --json: %s', async (command, name) => {
    const { output } = OPERATIONS[name];
    if (output.kind !== 'json') throw new Error(`${name} is not an operation that returns JSON`);
    const env = { HALO_HOME: home.host.home };
    const { code, stdout, stderr } = await callHalo([...command.split(' '), '--json'], {
      cwd: home.host.home,
      env,
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const printed = JSON.parse(stdout) as unknown;
    output.schema(z).parse(TO_OUTPUT[name]?.(printed) ?? printed);
  });
});
