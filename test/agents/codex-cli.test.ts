import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { codex } from '../../src/agents/codex/index.ts';
import { startModelServer } from '../support/model-server.ts';
import { SCENARIOS, type Scenario } from './codex-scenarios.ts';
import { expectOutcome, readRun } from './read-run.ts';

const FIXTURES = new URL('fixtures/codex/', import.meta.url).pathname;

/** Path of a Codex executable; these tests run only where it is named. With HALO_TEST_RECORD they write the fixtures anew. */
const binary = process.env.HALO_TEST_CODEX;
const recording = process.env.HALO_TEST_RECORD !== undefined;

describe.skipIf(binary === undefined || !existsSync(binary))('the real Codex CLI on the host', () => {
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'halo-codex-'));
    await mkdir(FIXTURES, { recursive: true });
  });

  afterAll(async () => {
    await rm(dir, { recursive: true, force: true });
    if (recording) await writeIndex();
  });

  const index: object[] = [];
  const writeIndex = () => writeFile(join(FIXTURES, 'index.json'), `${JSON.stringify(index, null, 2)}\n`);

  it.each(SCENARIOS)('ends as expected: $name', async (scenario) => {
    const run = await runCodex(scenario, join(dir, scenario.name));
    if (recording) {
      await writeFile(join(FIXTURES, `${scenario.name}.jsonl`), run.stdout.replaceAll(`${dir}/${scenario.name}/`, '/'));
      index.push({ name: scenario.name, exitCode: run.exitCode, stderrTail: '', outcome: scenario.outcome });
    }
    const { outcome } = readRun(codex, run);
    expectOutcome(outcome, scenario.outcome);
  });
});

async function runCodex(scenario: Scenario, dir: string) {
  const server = await startModelServer({ turns: scenario.turns });
  const [home, workspace] = [join(dir, 'home'), join(dir, 'workspace')];
  await mkdir(workspace, { recursive: true });
  const launch = codex.launch({
    model: scenario.model ?? 'gpt-5.5',
    modelUrl: server.url,
    home,
    commandLine: undefined,
  });
  for (const [path, content] of Object.entries(launch.files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  // Only the place of the program differs from a sandbox.
  const script = launch.script.replace('/opt/halo/agents/codex/bin/codex', binary ?? '');
  const child = spawn('sh', ['-c', script], {
    cwd: workspace,
    env: { PATH: process.env.PATH, HOME: home, ...launch.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end('Add a greeting.');
  const exited = new Promise<number | undefined>((resolve) => child.on('close', (code) => resolve(code ?? undefined)));
  const [stdout, stderrTail] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const exitCode = await exited;
  await server.close();
  return { stdout, stderrTail, exitCode };
}
