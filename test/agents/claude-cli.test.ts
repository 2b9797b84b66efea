import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { claude } from '../../src/agents/claude/index.ts';
import { startModelServer } from '../support/model-server.ts';
import { SCENARIOS } from './claude-scenarios.ts';
import { expectOutcome, readRun } from './read-run.ts';
import { hasAgent, runAgent } from './run-agent.ts';

const FIXTURES = new URL('fixtures/claude/', import.meta.url).pathname;

/** With HALO_TEST_RECORD these tests write the fixtures anew. */
const recording = process.env.HALO_TEST_RECORD !== undefined;

describe.skipIf(!hasAgent('claude'))('the real Claude Code on the host', () => {
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'halo-claude-'));
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
    const options = { modelUrl: server.url, model: scenario.model ?? 'claude-sonnet-5-5' };
    const run = await runAgent(claude, join(dir, scenario.name), options);
    await server.close();
    if (recording) {
      await writeFile(join(FIXTURES, `${scenario.name}.jsonl`), run.stdout.replaceAll(`${dir}/${scenario.name}/`, '/'));
      index.push({ name: scenario.name, exitCode: run.exitCode, stderrTail: '', outcome: scenario.outcome });
    }
    const { outcome } = readRun(claude, run);
    expectOutcome(outcome, scenario.outcome);
  });
});
