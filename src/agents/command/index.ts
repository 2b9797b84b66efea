import type { AgentAdapter } from '../adapter.ts';
import { launchCommand } from './launch.ts';
import { readCommandOutcome } from './outcome.ts';
import { createSignalReader } from '../signals.ts';
import { parseCommandLine } from './parse.ts';

const BRACE = '{'.charCodeAt(0);

/** Any program as an agent: prompt on stdin, answer in the file HALO_RESULT or on a line of stdout. */
export const command: AgentAdapter = {
  id: 'command',
  title: 'The agent command',
  guidanceFiles: ['AGENTS.md'],
  launch: launchCommand,
  createReader: (expected) => (expected?.form === 'signals' ? createSignalReader(expected) : parseCommandLine),
  isTalk: (lines, form) => form === 'json' && !lines.includes(BRACE),
  outcome: readCommandOutcome,
};
