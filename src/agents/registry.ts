import type { AgentId } from '../core/agent.ts';
import type { AgentAdapter } from './adapter.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { command } from './command.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';

/** Every agent that halo can run. CONTRIBUTING.md lists what a new one needs. */
export const AGENTS = { codex, claude, opencode, gemini, command } satisfies Record<AgentId, AgentAdapter>;

/** The adapter of an agent. */
export function agentAdapter(id: AgentId): AgentAdapter {
  return AGENTS[id];
}
