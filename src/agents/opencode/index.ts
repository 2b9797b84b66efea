import type { AgentAdapter } from '../adapter.ts';
import { launchOpencode } from './launch.ts';
import { readOpencodeOutcome } from './outcome.ts';
import { parseOpencodeLine } from './parse.ts';

/** opencode, from version 1.18. */
export const opencode: AgentAdapter = {
  id: 'opencode',
  title: 'opencode',
  // Those of the repository are not read, because its settings are not: the prompt carries them.
  guidanceFiles: ['AGENTS.md'],
  launch: launchOpencode,
  createReader: () => parseOpencodeLine,
  outcome: readOpencodeOutcome,
};
