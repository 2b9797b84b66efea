import type { AgentAdapter } from '../adapter.ts';
import { launchGemini } from './launch.ts';
import { readGeminiOutcome } from './outcome.ts';
import { createGeminiReader } from './parse.ts';

/** Gemini CLI, from version 0.61. */
export const gemini: AgentAdapter = {
  id: 'gemini',
  title: 'Gemini CLI',
  // Named in its settings (docker/sandbox/gemini-settings.json), so that it reads them by itself.
  guidanceFiles: [],
  launch: launchGemini,
  createReader: createGeminiReader,
  outcome: readGeminiOutcome,
};
