import type { AgentAdapter } from '../adapter.ts';
import { launchClaude } from './launch.ts';
import { readClaudeOutcome } from './outcome.ts';
import { parseClaudeLine } from './parse.ts';

/** Claude Code, from version 2.1.330. */
export const claude: AgentAdapter = {
  id: 'claude',
  title: 'Claude Code',
  guidanceFiles: ['CLAUDE.md', 'AGENTS.md'],
  hasAnswerSchema: true,
  launch: launchClaude,
  createReader: () => parseClaudeLine,
  outcome: readClaudeOutcome,
};
