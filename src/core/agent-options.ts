import { hasOwnAdapter, type ModelApi } from './agent.ts';

/** How much a model thinks before it answers, in the words that all agents share. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** Settings of an agent's program. Absent ones are left to the program. None of them can change isolation or access. */
export interface AgentOptions {
  effort?: Effort;
  /** The names of its tools, for Claude Code. */
  tools?: readonly string[];
  /** Tools, or uses of tools such as `Bash(git push *)`, that its own rules deny. */
  disallowedTools?: readonly string[];
  /** Whether it may start subagents. */
  subagents?: boolean;
  /** Whether its subagents may send each other messages and share a list of tasks, for Claude Code. */
  teams?: boolean;
  /** Further attempts at a story continue its session: how long a session is kept, in ms. */
  sessionMs?: number;
  /** It may read messages while it works, for Codex. */
  live?: boolean;
  /** Further settings in the program's own words. */
  config?: Readonly<Record<string, unknown>>;
}

/** Tools of Claude Code that only work in the sandbox: none of them sends requests or starts another program by itself. */
export const CLAUDE_TOOLS = ['Bash', 'Edit', 'Glob', 'Grep', 'NotebookEdit', 'Read', 'Write'] as const;

/** The efforts that an agent's program, with this model API, can request; empty: it has no such setting. */
export function effortsOf(agent: string, api: ModelApi | undefined): readonly Effort[] {
  if (!hasOwnAdapter(agent)) return [];
  switch (agent) {
    case 'codex':
      return EFFORTS;
    case 'claude':
      return EFFORTS.slice(2);
    case 'opencode':
      return api === 'openai' ? EFFORTS : EFFORTS.slice(2);
    case 'gemini':
      return ['low', 'medium', 'high'];
    case 'command':
      return [];
  }
}

/** Describes the options in a few words each. */
export function describeAgentOptions({
  effort,
  tools,
  disallowedTools,
  subagents,
  teams,
  sessionMs,
  config,
}: AgentOptions): string[] {
  return [
    ...(effort === undefined ? [] : [`effort ${effort}`]),
    ...(tools === undefined ? [] : [`tools ${tools.join(' ')}`]),
    ...(disallowedTools === undefined ? [] : [`without ${disallowedTools.join(' ')}`]),
    ...(subagents === undefined ? [] : [subagents ? 'with subagents' : 'no subagents']),
    ...(teams === true ? ['with teams'] : []),
    ...(sessionMs === undefined ? [] : ['one session per story']),
    ...Object.entries(config ?? {}).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
  ];
}
