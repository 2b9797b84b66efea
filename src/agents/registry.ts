import { hasOwnAdapter, type AgentId } from '../core/agent.ts';
import { acp } from './acp.ts';
import type { AgentAdapter } from './adapter.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { command } from './command.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';

/** Every adapter. CONTRIBUTING.md lists what a new one needs. */
export const AGENTS = { codex, claude, opencode, gemini, command, acp } satisfies Record<AgentId | 'acp', AgentAdapter>;

/** The adapter of an agent, by its name. */
export function agentAdapter(name: string): AgentAdapter {
  return AGENTS[hasOwnAdapter(name) ? name : 'acp'];
}
