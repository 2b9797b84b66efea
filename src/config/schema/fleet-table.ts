import { z } from 'zod';
import { AGENT_IDS, type AgentId } from '../../core/agent.ts';
import { key } from './key-metadata.ts';
import { HOST_FILE } from '../trust/key-trust.ts';
import { wholeNumber } from './values.ts';

const FLEET = 'Only in `<HALO_HOME>/config.toml`.';
const Slots = wholeNumber(1, 10_000).optional();

/** The agents, as the meaning of their limit calls them. */
const AGENT_NAMES: Record<AgentId, string> = {
  codex: 'Codex',
  claude: 'Claude Code',
  opencode: 'opencode',
  gemini: 'Gemini CLI',
  command: 'commands',
};

function limitOf(agent: AgentId) {
  const meaning = `Maximum number of concurrent stories with ${AGENT_NAMES[agent]}. ${FLEET}`;
  return key(Slots, ['whole number', undefined, meaning], HOST_FILE);
}

/** `[fleet]`: limits on concurrent stories. */
export const Fleet = z.strictObject({
  max: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories, over all workers. ${FLEET}`],
    HOST_FILE,
  ),
  per_host: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories on one machine. ${FLEET}`],
    HOST_FILE,
  ),
  per_repo: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories of one repository. ${FLEET}`],
    HOST_FILE,
  ),
  per_user: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories of one user. ${FLEET}`],
    HOST_FILE,
  ),
  per_agent: z.strictObject(
    Object.fromEntries(AGENT_IDS.map((id) => [id, limitOf(id)])) as Record<AgentId, ReturnType<typeof limitOf>>,
  ),
});
