import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { codex } from '../../src/agents/codex/index.ts';
import { startModelServer } from '../support/model-server.ts';
import { SCENARIOS } from './codex-scenarios.ts';
import { expectOutcome, readRun } from './read-run.ts';
import { hasAgent, runAgent } from './run-agent.ts';

const FIXTURES = new URL('fixtures/codex/', import.meta.url).pathname;

/** With HALO_TEST_RECORD these tests write the fixtures anew. */
const recording = process.env.HALO_TEST_RECORD !== undefined;

describe.skipIf(!hasAgent('codex'))('the real Codex CLI on the host', () => {
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
    const server = await startModelServer({ turns: scenario.turns });
    const options = { modelUrl: server.url, model: scenario.model ?? 'gpt-5.5' };
    const run = await runAgent(codex, join(dir, scenario.name), options);
    await server.close();
    if (recording) {
      await writeFile(join(FIXTURES, `${scenario.name}.jsonl`), run.stdout.replaceAll(`${dir}/${scenario.name}/`, '/'));
      index.push({ name: scenario.name, exitCode: run.exitCode, stderrTail: '', outcome: scenario.outcome });
    }
    const { outcome } = readRun(codex, run);
    expectOutcome(outcome, scenario.outcome);
  });
});
