import type { Config } from '../../config/config.ts';
import { chosenVersion, isProgramId, VERSION_DIR } from '../../core/agent-program.ts';
import type { Mount } from '../../sandbox/sandbox.ts';

/** The program of the agent, if it is another version than that of halo's image. */
export function mountVersion({ agent, agentVersions }: Pick<Config, 'agent' | 'agentVersions'>): Mount[] {
  const version = chosenVersion(agentVersions, agent);
  if (!isProgramId(agent) || version === undefined) return [];
  return [{ kind: 'agent', agent, version, target: VERSION_DIR }];
}
