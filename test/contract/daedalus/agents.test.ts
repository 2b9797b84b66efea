import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentAdapter } from '../../../src/agents/registry.ts';
import { parseConfigFile } from '../../../src/config/load/config-file.ts';
import type { ConfigSources } from '../../../src/config/load/file-layers.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { AGENT_IDS } from '../../../src/core/agent.ts';
import { classifyFailure, decideRetry, type FailureFacts } from '../../../src/core/failure/failure.ts';
import { failureCauseOf } from '../../../src/gateway/model/provider-error.ts';
import { PROGRAM_AGENTS, type ProgramAgent } from '../../support/agent-ids.ts';
import { readRun } from '../../agents/read-run.ts';

interface Recording {
  name: string;
  exitCode: number;
  stderrTail: string;
}

/** A recorded run of the real program, as a worker reads it. */
function recorded(id: ProgramAgent, name: string) {
  const fixtures = join(import.meta.dirname, '../../agents/fixtures', id);
  const index = JSON.parse(readFileSync(join(fixtures, 'index.json'), 'utf8')) as Recording[];
  const { exitCode, stderrTail } = index.find((each) => each.name === name)!;
  return readRun(agentAdapter(id), {
    stdout: readFileSync(join(fixtures, `${name}.jsonl`), 'utf8'),
    exitCode,
    stderrTail,
  });
}

const configOf = (sources: Partial<ConfigSources>) => resolveConfig({ cwd: '/place', ...sources }).config;
const repo = (text: string) => parseConfigFile('/repo/halo.toml', text);

const decide = (facts: FailureFacts, failures = 0) =>
  decideRetry({
    kind: classifyFailure(facts),
    before: { [classifyFailure(facts).class]: failures },
    policy: { ...configOf({}).retry, attempts: 3, jitter: 0 },
    seed: 'x',
  });

describe('the boundary to agents', () => {
  it('gives events of the same shape for every agent', () => {
    for (const id of PROGRAM_AGENTS) {
      const { activities, outcome } = recorded(id, 'success');
      expect(outcome, id).toMatchObject({ kind: 'answer', answer: { status: 'ok' } });
      const kinds = new Set(activities.map(({ kind }) => kind));
      expect(
        [...kinds].filter((kind) => !['say', 'run', 'ran', 'edit', 'warn'].includes(kind)),
        id,
      ).toEqual([]);
      expect(kinds.has('ran'), id).toBe(true);
    }
  });

  it('distinguishes errors, and each kind has its own retry rule', () => {
    for (const id of PROGRAM_AGENTS) {
      expect(recorded(id, 'prose').outcome.kind, id).toBe('invalid');
      expect(recorded(id, 'http-401').outcome.kind, id).toBe('error');
    }
    expect(decide({ stopReason: 'INVALID_OUTPUT' })).toMatchObject({ class: 'agent', retry: { nth: 1, of: 2 } });
    // The gateway sees what the provider answered, whatever the agent makes of it.
    const answered = (status: number) => decide({ stopReason: 'ENGINE_ERROR', ...failureCauseOf(status) });
    expect(answered(429)).toMatchObject({ class: 'provider', rule: 'wait' });
    expect(answered(503)).toMatchObject({ class: 'provider', rule: 'wait' });
    expect(answered(401)).toEqual({ class: 'provider', rule: 'halt' });
  });

  it('retries a bounded number of times, each after a longer wait', () => {
    const [first, second, third] = [0, 1, 2].map((failures) => decide({ stopReason: 'INVALID_OUTPUT' }, failures));
    expect(second?.retry?.waitMs).toBeGreaterThan(first?.retry?.waitMs ?? Infinity);
    expect(third).toEqual({ class: 'agent', rule: 'halt' });
    // What will pass by itself has a number of its own.
    const passing: FailureFacts = { stopReason: 'ENGINE_ERROR', ...failureCauseOf(429) };
    const { retries } = configOf({}).retry.provider;
    const waits = Array.from({ length: retries + 1 }, (_, failures) => decide(passing, failures).retry?.waitMs);
    const [once = Infinity, twice = 0] = waits;
    expect(twice).toBeGreaterThan(once);
    expect(waits.indexOf(undefined)).toBe(retries);
  });

  it('is complete: the worker names no agent', () => {
    const worker = join(import.meta.dirname, '../../../src/worker');
    const files = readdirSync(worker, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(20);
    const named = new RegExp(`['"\`](${AGENT_IDS.filter((id) => id !== 'command').join('|')})['"\`]`);
    expect(files.filter((file) => named.test(readFileSync(join(worker, file), 'utf8')))).toEqual([]);
  });

  it('uses codex unless the configuration or an option names another agent', () => {
    expect(configOf({}).agent).toBe('codex');
    expect(configOf({ repo: repo('agent = "gemini"') }).agent).toBe('gemini');
    expect(configOf({ repo: repo('agent = "gemini"'), set: ['agent=claude'] }).agent).toBe('claude');
    expect(configOf({ repo: repo('[retry]\nattempts = 5'), set: ['retry.attempts=2'] }).retry.attempts).toBe(2);
  });
});
