import { describe, expect, it } from 'vitest';
import { parse } from 'smol-toml';
import type { AgentIntent } from '../../src/agents/adapter.ts';
import { agentAdapter } from '../../src/agents/registry.ts';
import type { AgentId, ModelApi } from '../../src/core/agent.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import type { AgentOptions } from '../../src/core/agent-options.ts';

function launch(agent: AgentId, options: AgentOptions, more: Partial<AgentIntent> = {}) {
  return agentAdapter(agent).launch({
    model: 'some-model',
    api: 'openai',
    modelUrl: 'http://127.0.0.1:4000/v1',
    gatewayToken: 'halo-token',
    home: '/home/agent',
    commandLine: 'cat',
    options,
    ...more,
  });
}

describe('the launch of Claude Code', () => {
  const script = (options: AgentOptions) => launch('claude', options).script;

  it('has the four tools of its work, and neither effort nor rules, if nothing is set', () => {
    const { agentOptions } = resolveConfig({ set: ['agent=claude'], cwd: '/' }).config;
    expect(script(agentOptions)).toContain(' --tools Bash,Edit,Read,Write --model ');
    for (const flag of ['--effort', '--disallowedTools', '--settings '])
      expect(script(agentOptions)).not.toContain(flag);
  });

  it('has the effort, the tools, the rules and the settings of the options, each as one argument', () => {
    const config = { language: "l'allemand", outputStyle: 'Explanatory' };
    const text = script({
      effort: 'xhigh',
      tools: ['Bash', 'Grep'],
      disallowedTools: ['Bash(git push *)', 'Edit'],
      config,
    });
    expect(text).toContain("--tools Bash,Grep --disallowedTools 'Bash(git push *)' 'Edit' --effort xhigh --settings ");
    expect(text).toContain(`{"language":"l'\\''allemand","outputStyle":"Explanatory"}`);
  });

  it('has the tool of subagents only if they are allowed', () => {
    expect(script({ tools: ['Bash'], subagents: true })).toContain('--tools Bash,Agent ');
    expect(script({ tools: ['Bash'], subagents: false })).toContain('--tools Bash ');
  });

  it('has the variable and the tools of teams only if they are allowed', () => {
    const team = { tools: ['Bash'], subagents: true, teams: true };
    expect(script(team)).toContain('--tools Bash,Agent,SendMessage,TaskCreate,TaskGet,TaskList,TaskUpdate ');
    const name = 'CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS';
    expect(launch('claude', team).env[name]).toBe('1');
    expect(launch('claude', { tools: ['Bash'], subagents: true }).env).not.toHaveProperty(name);
  });
});

describe('the launch of Codex', () => {
  const config = (options: AgentOptions) =>
    parse(launch('codex', options).files['/home/agent/.codex/config.toml'] ?? '') as Record<string, unknown>;

  it('has effort, subagents and settings in its configuration', () => {
    const options = {
      effort: 'high',
      subagents: false,
      config: { model_verbosity: 'low', features: { goals: false } },
    } as const;
    expect(config(options)).toMatchObject({
      model_reasoning_effort: 'high',
      model_verbosity: 'low',
      features: { goals: false, multi_agent: false, plugins: false, unbounded_connection_retries: false },
    });
    expect(config({})).not.toHaveProperty('model_reasoning_effort');
    expect(config({})).not.toHaveProperty('features.multi_agent');
  });

  it('has the client of its app server only if a message may come, and the settings allow it', () => {
    const live = launch('codex', { live: true }, { live: true });
    expect(live.script).toContain('/opt/halo/agents/codex/client.mjs /opt/halo/agents/codex/bin/codex ');
    expect(live.files).toEqual(launch('codex', {}).files);
    for (const other of [launch('codex', {}, { live: true }), launch('codex', { live: true })])
      expect(other.script).toContain('/opt/halo/agents/codex/bin/codex exec --json ');
  });

  it('keeps its own settings, whatever the options are', () => {
    const hostile = { sandbox_mode: 'read-only', model_providers: {}, features: { plugins: true }, analytics: {} };
    const own = config({});
    expect(config({ config: hostile })).toEqual(own);
  });
});

describe('the launch of opencode', () => {
  const models = (api: ModelApi, options: AgentOptions) => {
    const settings = JSON.parse(launch('opencode', options, { api }).env.OPENCODE_CONFIG_CONTENT ?? '') as {
      provider: Record<string, { models: unknown }>;
    };
    return settings.provider[api]?.models;
  };

  it('has the effort in the words of the provider', () => {
    expect(models('anthropic', {})).toEqual({ 'some-model': {} });
    expect(models('anthropic', { effort: 'high' })).toEqual({
      'some-model': { reasoning: true, options: { effort: 'high' } },
    });
    expect(models('openai', { effort: 'low' })).toEqual({
      'some-model': { reasoning: true, options: { reasoningEffort: 'low' } },
    });
  });
});

describe('the launch of Gemini CLI', () => {
  const thinking = (model: string) => {
    const [text = ''] = Object.values(launch('gemini', { effort: 'high' }, { model }).files);
    return JSON.parse(text) as unknown;
  };
  const forModel = (model: string, thinkingConfig: object) => ({
    modelConfigs: {
      customOverrides: [{ match: { model }, modelConfig: { generateContentConfig: { thinkingConfig } } }],
    },
  });

  it('has the effort as tokens or as a level, which depends on the model', () => {
    const tokens = { includeThoughts: true, thinkingBudget: 24_576 };
    expect(thinking('gemini-2.5-pro')).toEqual(forModel('gemini-2.5-pro', tokens));
    const level = { includeThoughts: true, thinkingLevel: 'HIGH' };
    expect(thinking('gemini-3-pro-preview')).toEqual(forModel('gemini-3-pro-preview', level));
  });

  it('writes no settings without an effort, and keeps those of the image above its own', () => {
    const { env, files } = launch('gemini', {});
    expect(env.GEMINI_CLI_SYSTEM_SETTINGS_PATH).toBe('/opt/halo/agents/gemini/settings.json');
    expect(files).toEqual({});
    expect(launch('gemini', { effort: 'low' }).env).toEqual(env);
  });
});
