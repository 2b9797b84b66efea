import { describe, expect, it } from 'vitest';
import { amendConfig, parseAmendedKeys } from '../../src/config/amend.ts';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { HaloError } from '../../src/core/failure/errors.ts';

const resolve = (...set: string[]) => resolveConfig({ cwd: '/', set });
function refusalOf(...set: string[]): HaloError {
  try {
    resolve(...set);
  } catch (error) {
    if (error instanceof HaloError) return error;
  }
  throw new Error('the settings were accepted');
}

const optionsOf = (...set: string[]) => resolve(...set).config.agentOptions;

describe('the options of an agent', () => {
  it('are those of the chosen agent', () => {
    const claude = ['agents.claude.tools=["Bash","Grep"]', 'agents.claude.disallowed_tools=["Edit"]'];
    const codex = ['agents.codex.subagents=false', 'agents.codex.config.model_verbosity=low'];
    const both = [...claude, ...codex, 'agents.codex.config.features.goals=false', 'model.effort=high'];
    expect(optionsOf('agent=claude', ...both)).toEqual({
      effort: 'high',
      tools: ['Bash', 'Grep'],
      disallowedTools: ['Edit'],
      subagents: false,
    });
    expect(optionsOf('agent=codex', ...both)).toEqual({
      effort: 'high',
      subagents: false,
      config: { model_verbosity: 'low', features: { goals: false } },
    });
    expect(optionsOf('agent=gemini', ...both)).toEqual({ effort: 'high' });
  });

  it('are the tools that run commands and read and write files for Claude Code, and nothing for Codex, if nothing is set', () => {
    expect(optionsOf('agent=claude')).toEqual({ tools: ['Bash', 'Edit', 'Read', 'Write'], subagents: false });
    expect(optionsOf('agent=codex')).toEqual({});
  });

  it('include that Codex reads messages while it works, if that is set', () => {
    expect(optionsOf('agent=codex', 'agents.codex.live=true')).toEqual({ live: true });
    expect(optionsOf('agent=claude', 'agents.codex.live=true')).not.toHaveProperty('live');
  });

  it('include subagents with teams of Claude Code', () => {
    expect(optionsOf('agent=claude', 'agents.claude.teams=true')).toMatchObject({ subagents: true, teams: true });
  });

  it.each([
    ['claude', []],
    ['codex', []],
    ['opencode', []],
    ['qwen', ['agents.qwen.acp="qwen --acp"']],
  ])('include a session of %s that lasts for a story, and for how long it is kept', (agent, more) => {
    const own = [`agent=${agent}`, ...more];
    expect(optionsOf(...own)).not.toHaveProperty('sessionMs');
    const story = [...own, `agents.${agent}.session="story"`];
    expect(optionsOf(...story)).toMatchObject({ sessionMs: 24 * 3_600_000 });
    expect(optionsOf(...story, `agents.${agent}.session_expiry="90m"`)).toMatchObject({ sessionMs: 90 * 60_000 });
  });

  it.each([
    ['gemini', 'max', 'the agent "gemini" cannot request "max"; use one of "low", "medium", "high"'],
    [
      'claude',
      'minimal',
      'the agent "claude" cannot request "minimal"; use one of "low", "medium", "high", "xhigh", "max"',
    ],
    ['opencode', 'none', 'the agent "opencode" cannot request "none"; use one of "low"'],
  ])('the options of %s do not include an effort of %s', (agent, effort, sentence) => {
    const error = refusalOf(`agent=${agent}`, `model.effort=${effort}`);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(error.message).toContain(`-c: model.effort: ${sentence}`);
  });

  it('do not include an effort for a command, which has none', () => {
    const set = ['agent=command', 'agents.command.run=./agent', 'model.effort=high'];
    expect(refusalOf(...set).message).toContain(
      'model.effort: the agent "command" has no such setting; put it into agents.command.run',
    );
  });

  it.each([
    ['model.effort=huge', 'model.effort: must be one of "none", "minimal", "low"'],
    ['agents.claude.tools=["Bash","WebFetch"]', 'agents.claude.tools[1]: must be one of "Bash", "Edit"'],
    ['agents.claude.tools=[]', 'agents.claude.tools: must have at least one tool'],
    ['agents.claude.tools=Bash', 'agents.claude.tools: must be a list of tools: "Bash"'],
    ['agents.claude.disallowed_tools=["--help"]', 'agents.claude.disallowed_tools[0]: must be the name of a tool'],
    ['agents.claude.session=forever', 'agents.claude.session: must be one of "attempt", "story"'],
    ...['"0h"', '"-1h"', '"abc"'].map((value): [string, string] => [
      `agents.claude.session_expiry=${value}`,
      'agents.claude.session_expiry: must be a duration above 0',
    ]),
    ['agents.gemini.tools=["Bash"]', 'unknown key'],
    ['agents.codex.tools=["Bash"]', 'unknown key'],
    ['agents.codex.config.model_verbosity=loud', 'must be one of "low", "medium", "high"'],
  ])('are refused if they are wrong: %s', (setting, sentence) => {
    expect(refusalOf(setting).message).toContain(sentence);
  });

  it('can be changed for the rest of a run as far as the effort', () => {
    const before = resolve('agent=claude', 'agents.claude.subagents=true').config;
    const keys = parseAmendedKeys(['model.effort=high', 'retry.max_wait=20h']);
    const change = amendConfig(before, keys, resolve('agent=claude', 'model.effort=high', 'retry.max_wait=20h'));
    expect(change.agentOptions).toEqual({ ...before.agentOptions, effort: 'high' });
    expect(change.retry).toMatchObject({ maxWaitMs: 72_000_000 });
  });
});

describe('an agent of the Agent Client Protocol', () => {
  const QWEN = ['agent=qwen', 'agents.qwen.acp="qwen --acp"'];

  it('has a name, a command and a model API', () => {
    const { config } = resolveConfig({ cwd: '/', set: QWEN });
    expect(config).toMatchObject({ agent: 'qwen', agentCommand: 'qwen --acp', agentAnswer: 'json', agentOptions: {} });
    expect(config.model).toMatchObject({ api: 'openai', name: 'gpt-5.5' });
  });

  it.each([
    ['agents.qwen.model="anthropic"', { api: 'anthropic', name: 'claude-sonnet-5-5' }],
    ['agents.qwen.model="none"', { api: undefined }],
  ])('uses the model API that it names: %s', (option, model) => {
    expect(resolveConfig({ cwd: '/', set: [...QWEN, option] }).config.model).toMatchObject(model);
  });

  it('may answer in signals', () => {
    const { config } = resolveConfig({ cwd: '/', set: [...QWEN, 'agents.qwen.answer="signals"'] });
    expect(config.agentAnswer).toBe('signals');
  });

  it('may stand in a file beside others', () => {
    const file = parseConfigFile(
      '/repo/halo.toml',
      'agent = "pi"\n[agents.pi]\nacp = "pi-acp"\n[agents.claude]\ntools = ["Bash"]\n',
    );
    expect(resolveConfig({ cwd: '/', repo: file }).config).toMatchObject({ agent: 'pi', agentCommand: 'pi-acp' });
  });

  it.each([
    [
      '[agents.claud]\nsubagents = true',
      /^\/repo\/halo.toml:1: agents\.claud\.acp: is missing: the command that starts an agent/,
    ],
    ['[agents.qwen]\nacp = ""', '/repo/halo.toml:2: agents.qwen.acp: must not be empty'],
    ['[agents.qwen]\nacp = 7', '/repo/halo.toml:2: agents.qwen.acp: must be a command line'],
    ['[agents.qwen]\nacp = "x"\nmodel = "azure"', /agents\.qwen\.model: must be one of "none", "openai"/],
    ['[agents.Qwen]\nacp = "x"', /agents\.Qwen: is not a name of small letters/],
    ['[agents.codex]\nacp = "codex-acp"', /agents\.codex\.acp: unknown key/],
    ['[agents.acp.codex]\nacp = "codex-acp"', /agents\.acp\.codex: is an agent that halo has already/],
    ['agent = "qwen"', /agent: must be one of .*, or have a table \[agents\.<name>\] with acp/],
    [
      'agent = "qwen"\n[agents.qwen]\nacp = "x"\n[model]\neffort = "high"',
      /model\.effort: the agent "qwen" has no such setting; put it into agents\.qwen\.acp/,
    ],
  ])('is refused: %j', (text, says) => {
    const refused = () => resolveConfig({ cwd: '/', repo: parseConfigFile('/repo/halo.toml', text) });
    expect(refused).toThrow(says);
  });
});
