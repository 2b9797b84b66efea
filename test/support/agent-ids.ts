import { AGENT_IDS, type AgentId } from '../../src/core/agent.ts';

/** An agent whose program is in the sandbox image. */
export type ProgramAgent = Exclude<AgentId, 'command'>;

export const PROGRAM_AGENTS = AGENT_IDS.filter((id): id is ProgramAgent => id !== 'command');

/** The programs as halo starts them: Codex also with its app server, which gives the same lines. */
export const PROGRAM_STARTS: { name: string; id: ProgramAgent; live?: true }[] = [
  ...PROGRAM_AGENTS.map((id) => ({ name: id, id })),
  { name: 'codex-live', id: 'codex', live: true },
];

/** All agents, as messages list them. */
export const LISTED_AGENTS = AGENT_IDS.join(', ');

/** What messages about a wrong name say of agents. */
export const QUOTED_AGENTS = `${AGENT_IDS.map((id) => `"${id}"`).join(', ')}, or have a table [agents.<name>] with acp`;
