import type { AgentOptions } from '../core/agent-options.ts';
import { defined } from '../lib/guards.ts';
import type { HaloToml } from './schema/halo-toml.ts';

/** The options of the chosen agent's program. */
export function toAgentOptions({ agent, agents, model }: Pick<HaloToml, 'agent' | 'agents' | 'model'>): AgentOptions {
  const { effort } = model;
  switch (agent) {
    case 'claude': {
      const { tools, disallowed_tools: disallowedTools, subagents, teams, config } = agents.claude;
      const team = { ...(teams ? { teams } : {}), ...sessionOf(agents.claude) };
      return defined({ effort, tools, disallowedTools, subagents: subagents || teams, ...team, config: known(config) });
    }
    case 'codex': {
      const { subagents, live, config } = agents.codex;
      const session = { subagents, ...(live ? { live } : {}), ...sessionOf(agents.codex) };
      return defined({ effort, ...session, config: known({ ...config, features: known(config.features) }) });
    }
    case 'opencode':
      return defined({ effort, ...sessionOf(agents.opencode) });
    case 'gemini':
    case 'command':
      return defined({ effort });
    default:
      return defined({ effort, ...sessionOf(agents.acp[agent]) });
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long the sessions of an agent are kept; nothing if they last for an attempt. */
function sessionOf(
  table: { session: 'attempt' | 'story'; session_expiry?: number | undefined } | undefined,
): AgentOptions {
  return table?.session === 'story' ? { sessionMs: table.session_expiry ?? DAY_MS } : {};
}

/** The keys of a table that are set; undefined if there are none. */
function known(table: object): Record<string, unknown> | undefined {
  const set = defined(table) as Record<string, unknown>;
  return Object.keys(set).length === 0 ? undefined : set;
}
