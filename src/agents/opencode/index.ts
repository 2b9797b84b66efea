import type { AgentAdapter } from '../adapter.ts';
import { readAgentOutcome } from '../outcome.ts';
import { withSignals } from '../signals.ts';
import { launchOpencode } from './launch.ts';
import { parseOpencodeLine } from './parse.ts';

const TITLE = 'opencode';

/** opencode, from version 1.18. */
export const opencode: AgentAdapter = {
  id: 'opencode',
  title: TITLE,
  // opencode ignores the repository's settings and therefore its guidance: the prompt contains it.
  guidanceFiles: ['AGENTS.md'],
  launch: launchOpencode,
  createReader: (expected) => withSignals(parseOpencodeLine, expected),
  outcome: (end) => readAgentOutcome(TITLE, end),
};
