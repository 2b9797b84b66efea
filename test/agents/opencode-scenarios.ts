import { ANSWER, COMMON, DENIED, repeat, SUCCESS, type Scenario } from './scenarios.ts';

/** Runs of the real opencode against the scripted model server. */
export const SCENARIOS: Scenario[] = [
  ...COMMON,
  SUCCESS,
  {
    ...DENIED,
    home: { '.config/opencode/opencode.json': '{ "permission": { "bash": { "*": "allow", "git push*": "deny" } } }' },
    denied: 'bash',
  },
  { name: 'http-401', turns: repeat({ fail: 401 }, 30), outcome: { kind: 'error', says: 'scripted failure 401' } },
  {
    name: 'stream-cut-recovered',
    turns: [{ cut: 'headers' }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
];
