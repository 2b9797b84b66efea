import { agentImage, PROGRAM_IDS, type AgentVersions } from '../../core/agent-program.ts';
import type { Config } from '../config.ts';

/** The images of the versions of agents that a run may start, other than those of halo's image. */
export function imagesOfVersions({ agent, otherAgents, review, agentVersions }: Config): string[] {
  const agents = [agent, ...Object.keys(otherAgents), ...review.reviewers.map((each) => each.agent)];
  return chosenImages(agentVersions, agents);
}

/** The images of the chosen versions of these agents. */
export function chosenImages(versions: AgentVersions, agents: readonly string[] = PROGRAM_IDS): string[] {
  return PROGRAM_IDS.flatMap((id) => {
    const version = versions[id];
    return version !== undefined && agents.includes(id) ? [agentImage(id, version)] : [];
  });
}
