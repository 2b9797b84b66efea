import type { AgentAdapter } from '../adapter.ts';
import { readAgentOutcome } from '../outcome.ts';
import { withSignals } from '../signals.ts';
import { launchGemini } from './launch.ts';
import { createGeminiReader } from './parse.ts';

const TITLE = 'Gemini CLI';

/** Gemini CLI, from version 0.61. */
export const gemini: AgentAdapter = {
  id: 'gemini',
  title: TITLE,
  // Its settings (docker/sandbox/gemini-settings.json) name them, so it reads them itself.
  guidanceFiles: [],
  launch: launchGemini,
  createReader: (expected) => withSignals(createGeminiReader(), expected),
  // After a refusal by the provider, the exit code is the HTTP status modulo 256: the error message is more reliable.
  outcome: (end) => readAgentOutcome(TITLE, end),
};
