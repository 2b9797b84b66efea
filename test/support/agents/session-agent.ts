import { readFileSync } from 'node:fs';

/** The files of a repository that contains the agent. */
export const SESSION_AGENT = { 'agent.mjs': readFileSync(new URL('session-agent.mjs', import.meta.url), 'utf8') };

/** Settings of an agent of this name, which keeps its session and runs the script in each attempt. */
export function sessionAgent(name: string, script = 'true'): string[] {
  const command = `/opt/halo/agents/node/bin/node agent.mjs '${script}'`;
  return [
    `agents.${name}.acp=${JSON.stringify(command)}`,
    `agents.${name}.model="none"`,
    `agents.${name}.session="story"`,
  ];
}
