import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';

const TURNS: Turn[] = [
  { run: 'echo hello > greeting.txt' },
  { json: { status: 'ok', summary: 'Added the greeting.' } },
];

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-options-test-5b7f');
});
afterAll(() => halo.close());

interface Request {
  model?: string;
  reasoning?: { effort?: string };
  text?: { verbosity?: string };
  output_config?: { effort?: string };
  generationConfig?: { thinkingConfig?: object };
  tools?: { name?: string; type?: string }[];
}

/** Runs a story with these settings; returns the first request with tools, and the journal. */
async function implement(settings: string[]) {
  const { state, server, read } = await halo.implement(TURNS, settings);
  expect(state.stopReason).toBe('SUCCESS');
  const requests = server.requests.map(({ body }) => JSON.parse(body || '{}') as Request);
  const first = requests.find(({ tools = [] }) => tools.length > 0) ?? {};
  const launched = halo.journal(state.runId).find(({ type }) => type === 'agent.launched');
  const tools = first.tools?.map(({ name, type }) => name ?? type ?? '') ?? [];
  return { first, tools, launched, log: read('agent.log') };
}

describe('effort and tools of an attempt', skipFor(belowFull()), () => {
  it('reach the model through Codex', async () => {
    const more = ['model.effort=xhigh', 'agents.codex.config.model_verbosity=high', 'agents.codex.subagents=false'];
    const off = ['agents.codex.config.features.view_image=false', 'agents.codex.config.features.goals=false'];
    const { first, tools, launched, log } = await implement(['agent=codex', ...more, ...off]);
    expect(first).toMatchObject({ reasoning: { effort: 'xhigh' }, text: { verbosity: 'high' } });
    expect(tools).toContain('exec_command');
    for (const name of ['view_image', 'create_goal', 'tool_search', 'multi_agent_v1'])
      expect(tools).not.toContain(name);
    const config = { model_verbosity: 'high', features: { view_image: false, goals: false } };
    expect(launched).toMatchObject({ agent: 'codex', model: 'gpt-5.5', effort: 'xhigh', subagents: false, config });
    expect(log).toMatch(/agent {4}codex [\d.]+, gpt-5\.5, effort xhigh, no subagents, model_verbosity = "high"/);
  });

  it('are Codex’s own if none are set', async () => {
    const { first, tools, launched } = await implement(['agent=codex']);
    expect(first.reasoning?.effort).toBe('medium');
    expect(tools).toEqual(expect.arrayContaining(['view_image', 'create_goal']));
    expect(launched).not.toHaveProperty('effort');
  });

  it('reach the model through Claude Code', async () => {
    const rules = ['agents.claude.tools=["Bash","Edit","Grep"]', 'agents.claude.disallowed_tools=["Edit"]'];
    const config = ['agents.claude.config.language=german'];
    const { first, tools, launched, log } = await implement(['agent=claude', 'model.effort=max', ...rules, ...config]);
    expect(first.output_config?.effort).toBe('max');
    expect(tools).toEqual(expect.arrayContaining(['Bash', 'Grep']));
    for (const name of ['Edit', 'Write', 'Read', 'Agent']) expect(tools).not.toContain(name);
    expect(JSON.stringify(first)).toContain('german');
    expect(launched).toMatchObject({ effort: 'max', tools: ['Bash', 'Edit', 'Grep'], disallowedTools: ['Edit'] });
    expect(log).toMatch(
      /agent {4}claude [\d.]+, claude-sonnet-5-5, effort max, tools Bash Edit Grep, without Edit, no subagents/,
    );
  });

  it('include subagents of Claude Code only on request', async () => {
    expect((await implement(['agent=claude'])).tools).not.toContain('Agent');
    expect((await implement(['agent=claude', 'agents.claude.subagents=true'])).tools).toContain('Agent');
  });

  it('include teams of Claude Code only on request: a teammate works in the same sandbox, with the same model', async () => {
    const member = { description: 'Greet', prompt: 'Greet.', subagent_type: 'general-purpose', name: 'mate' };
    const lead: Turn[] = [
      { call: 'Agent', args: member },
      { run: 'until [ -f greeting.txt ]; do sleep 0.1; done' },
      // Claude Code may ask once more when its teammate has ended.
      ...Array<Turn>(3).fill({ json: { status: 'ok', summary: 'My teammate greeted.' } }),
    ];
    const mate: Turn[] = [{ run: 'echo hello > greeting.txt' }, ...Array<Turn>(2).fill({ say: 'I greeted.' })];
    const server = await halo.serve([{ match: 'Implement one story', turns: lead }, { turns: mate }]);
    const settings = modelAt(server.url, ['agent=claude', 'agents.claude.teams=true']);
    const state = await halo.run(halo.newRepository().root, [{ id: 'hello' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ summary: 'My teammate greeted.' }] });
    expect(halo.readFile(state.runId, 'agent.log')).toContain('with subagents, with teams');
    const requests = server.requests.map(({ body }) => JSON.parse(body || '{}') as Request);
    expect(new Set(requests.map(({ model }) => model))).toEqual(new Set(['claude-sonnet-5-5']));
    const tools = requests[0]?.tools?.map(({ name }) => name) ?? [];
    expect(tools).toEqual(expect.arrayContaining(['Agent', 'SendMessage', 'TaskCreate', 'TaskList']));
    expect(tools.filter((name) => /web|mcp|skill/i.test(name ?? ''))).toEqual([]);
  });

  it.each([
    ['openai', { reasoning: { effort: 'high' } }],
    ['anthropic', { output_config: { effort: 'high' } }],
  ])('reach the model through opencode with the API of %s', async (api, expected) => {
    const settings = ['agent=opencode', `agents.opencode.model=${api}`, 'model.effort=high'];
    expect((await implement(settings)).first).toMatchObject(expected);
  });

  it('reach the model through Gemini CLI', async () => {
    const { first, launched } = await implement(['agent=gemini', 'model.effort=low']);
    expect(first.generationConfig?.thinkingConfig).toEqual({ includeThoughts: true, thinkingBudget: 1024 });
    expect(launched).toMatchObject({ agent: 'gemini', model: 'gemini-2.5-pro', effort: 'low' });
  });
});
