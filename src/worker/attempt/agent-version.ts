import { chosenVersion } from '../../core/agent-program.ts';
import type { SandboxContext } from './open-attempt.ts';

/** The version of the agent's program: the chosen one, else that of halo's image; undefined if halo has not installed it. */
export async function readVersion({
  worker,
  config: { agent, agentVersions },
}: Pick<SandboxContext, 'worker' | 'config'>): Promise<string | undefined> {
  return chosenVersion(agentVersions, agent) ?? (await worker.engine.toolVersion(agent));
}
