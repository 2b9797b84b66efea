import { ANSWER, COMMON, DENIED, EXPLAINED, SUCCESS, type Scenario } from './scenarios.ts';

/** Runs of the real Claude Code against the scripted model server. */
export const SCENARIOS: Scenario[] = [
  ...COMMON,
  ...EXPLAINED,
  SUCCESS,
  {
    ...DENIED,
    home: { '.claude/settings.json': '{ "permissions": { "deny": ["Bash(git push:*)"] } }' },
    denied: 'Bash',
  },
  {
    name: 'other-json',
    turns: [{ json: { status: 'done' } }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
];
