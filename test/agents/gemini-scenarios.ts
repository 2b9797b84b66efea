import { COMMON, DENIED, repeat, SUCCESS, type Scenario } from './scenarios.ts';

const POLICY = `[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "deny"
priority = 999
`;

/** Runs of the real Gemini CLI, which does not repeat a stream that breaks off. */
export const SCENARIOS: Scenario[] = [
  ...COMMON,
  SUCCESS,
  { ...DENIED, home: { '.gemini/policies/rules.toml': POLICY }, denied: 'denied by policy' },
  { name: 'http-401', turns: repeat({ fail: 401 }, 30), outcome: { kind: 'error', says: 'scripted failure 401' } },
  { name: 'stream-cut', turns: [{ cut: 'middle' }], outcome: { kind: 'error', says: 'terminated' } },
];
