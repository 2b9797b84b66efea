import type { Scenario } from './codex-scenarios.ts';
import { SCENARIOS as OPENCODE } from './opencode-scenarios.ts';

/** Runs of the real Gemini CLI: it ends as opencode does, but it does not repeat a stream that breaks off. */
export const SCENARIOS: Scenario[] = [
  ...OPENCODE.filter(({ name }) => name !== 'stream-cut-recovered'),
  { name: 'stream-cut', turns: [{ cut: 'middle' }], outcome: { kind: 'error', says: 'terminated' } },
];
