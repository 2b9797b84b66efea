import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { agentAdapter } from '../../src/agents/registry.ts';
import type { ModelApi } from '../../src/core/agent.ts';
import { PROGRAM_STARTS, type ProgramAgent } from '../support/agent-ids.ts';
import { startModelServer } from '../support/model/model-server.ts';
import { SCENARIOS as CLAUDE } from './claude-scenarios.ts';
import { SCENARIOS as CODEX } from './codex-scenarios.ts';
import { SCENARIOS as GEMINI } from './gemini-scenarios.ts';
import { SCENARIOS as OPENCODE } from './opencode-scenarios.ts';
import { expectDenied, expectOutcome, readRun } from './read-run.ts';
import { hasAgent, runAgent } from './run-agent.ts';
import type { Scenario } from './scenarios.ts';
import { skipFor } from '../support/skip.ts';
import { tempDir } from '../support/temp-dir.ts';

const RECORDED = {
  codex: { api: 'openai', model: 'gpt-5.5', scenarios: CODEX },
  claude: { api: 'anthropic', model: 'claude-sonnet-5-5', scenarios: CLAUDE },
  opencode: { api: 'anthropic', model: 'claude-sonnet-5-5', scenarios: OPENCODE },
  gemini: { api: 'google', model: 'gemini-2.5-pro', scenarios: GEMINI },
} satisfies Record<ProgramAgent, { api: ModelApi; model: string; scenarios: readonly Scenario[] }>;

/** With HALO_TEST_RECORD, these tests rewrite the fixtures. */
const recording = process.env.HALO_TEST_RECORD !== undefined;

describe.each(PROGRAM_STARTS)('the real $name on the host', ({ name, id, live }) => {
  const { api, model, scenarios } = RECORDED[id];
  const adapter = agentAdapter(id);
  const fixtures = new URL(`fixtures/${name}/`, import.meta.url).pathname;
  const index: object[] = [];
  let dir: string;
  beforeAll(async () => {
    dir = tempDir(`halo-${name}`);
    if (recording && hasAgent(id)) await mkdir(fixtures, { recursive: true });
  });
  afterAll(async () => {
    if (recording && index.length > 0)
      await writeFile(join(fixtures, 'index.json'), `${JSON.stringify(index, null, 2)}\n`);
  });

  it.each([...scenarios])(
    'ends as expected: $name',
    skipFor(!hasAgent(id) && `needs HALO_TEST_${id.toUpperCase()}`),
    async (scenario) => {
      const server = await startModelServer({ turns: scenario.turns });
      const intent = { api, modelUrl: server.url, model: scenario.model ?? model, live };
      const run = await runAgent(id, join(dir, scenario.name), { ...intent, files: scenario.home ?? {} });
      await server.close();
      if (recording) {
        await writeFile(
          join(fixtures, `${scenario.name}.jsonl`),
          run.stdout.replaceAll(`${dir}/${scenario.name}/`, '/'),
        );
        const { name, outcome, denied } = scenario;
        const stderrTail = id === 'codex' && denied !== undefined ? run.stderrTail : '';
        index.push({ name, exitCode: run.exitCode, stderrTail, outcome, denied });
      }
      const { outcome, denied } = readRun(adapter, run);
      expectOutcome(outcome, scenario.outcome);
      expectDenied(denied, scenario.denied);
    },
  );
});
