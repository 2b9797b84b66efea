import { agentImage, isProgramId } from '../../core/agent-program.ts';
import type { Config } from '../config.ts';

/** The images of the versions of agents that a run may start, other than those of halo's image. */
export function imagesOfVersions({ agent, otherAgents, review, agentVersions }: Config): string[] {
  const agents = new Set([agent, ...Object.keys(otherAgents), ...review.reviewers.map((each) => each.agent)]);
  return [...agents].flatMap((name) => {
    const version = isProgramId(name) ? agentVersions[name] : undefined;
    return isProgramId(name) && version !== undefined ? [agentImage(name, version)] : [];
  });
}
