import type { AgentOptions } from '../core/agent-options.ts';
import { defined } from '../lib/guards.ts';
import type { HaloToml } from './schema/halo-toml.ts';

/** The options of the chosen agent's program. */
export function toAgentOptions({ agent, agents, model }: Pick<HaloToml, 'agent' | 'agents' | 'model'>): AgentOptions {
  const { effort } = model;
  switch (agent) {
    case 'claude': {
      const { tools, disallowed_tools: disallowedTools, subagents, teams, session, config } = agents.claude;
      const team = {
        ...(teams ? { teams } : {}),
        ...(session === 'story' ? { sessionMs: agents.claude.session_expiry } : {}),
      };
      return defined({ effort, tools, disallowedTools, subagents: subagents || teams, ...team, config: known(config) });
    }
    case 'codex': {
      const { subagents, live, config } = agents.codex;
      const session = { subagents, ...(live ? { live } : {}) };
      return defined({ effort, ...session, config: known({ ...config, features: known(config.features) }) });
    }
    case 'opencode':
    case 'gemini':
    case 'command':
    default:
      return defined({ effort });
  }
}

/** The keys of a table that are set; undefined if there are none. */
function known(table: object): Record<string, unknown> | undefined {
  const set = defined(table) as Record<string, unknown>;
  return Object.keys(set).length === 0 ? undefined : set;
}
