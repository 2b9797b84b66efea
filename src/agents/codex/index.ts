import type { AgentAdapter } from '../adapter.ts';
import { aboutCodex } from './features.ts';
import { deniedByCodex } from './denied.ts';
import { launchCodex } from './launch.ts';
import { readCodexOutcome } from './outcome.ts';
import { parseCodexLine } from './parse.ts';

/** The Codex CLI, from version 0.169.0. */
export const codex: AgentAdapter = {
  id: 'codex',
  title: 'Codex',
  guidanceFiles: [],
  launch: launchCodex,
  about: aboutCodex,
  createReader: () => parseCodexLine,
  deniedIn: deniedByCodex,
  outcome: readCodexOutcome,
};
