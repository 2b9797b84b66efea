import { z } from 'zod';
import { AGENT_IDS, type AgentId } from '../../core/agent.ts';
import { key } from './key-metadata.ts';
import { HOST_FILE } from '../trust/key-trust.ts';
import { wholeNumber } from './values.ts';

const Slots = wholeNumber(1, 10_000).optional();

function limitOf() {
  return key(Slots, ['whole number', undefined, 'Maximum concurrent stories with this agent.'], HOST_FILE);
}

/** `[fleet]`: limits on concurrent stories. */
export const Fleet = z.strictObject({
  max: key(Slots, ['whole number', undefined, `Maximum concurrent stories, over all workers.`], HOST_FILE),
  per_host: key(
    Slots,
    ['whole number', undefined, 'Maximum concurrent stories on one machine, and on each of the `[[engines]]`.'],
    HOST_FILE,
  ),
  per_repo: key(Slots, ['whole number', undefined, `Maximum concurrent stories of one repository.`], HOST_FILE),
  per_user: key(Slots, ['whole number', undefined, `Maximum concurrent stories of one user.`], HOST_FILE),
  per_agent: z.strictObject(
    Object.fromEntries(AGENT_IDS.map((id) => [id, limitOf()])) as Record<AgentId, ReturnType<typeof limitOf>>,
  ),
});
