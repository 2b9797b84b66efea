import type { AgentId } from '../core/agent.ts';
import type { AgentAdapter } from './adapter.ts';
import { claude } from './claude/index.ts';
import { codex } from './codex/index.ts';
import { command } from './command/index.ts';
import { gemini } from './gemini/index.ts';
import { opencode } from './opencode/index.ts';

/** Every agent that halo can run. CONTRIBUTING.md lists what a new one needs. */
export const AGENTS = { codex, claude, opencode, gemini, command } satisfies Record<AgentId, AgentAdapter>;

/** The adapter of an agent. */
export function agentAdapter(id: AgentId): AgentAdapter {
  return AGENTS[id];
}
