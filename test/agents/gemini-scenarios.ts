import { DENIED, type Scenario } from './codex-scenarios.ts';
import { SCENARIOS as OPENCODE } from './opencode-scenarios.ts';

const POLICY = `[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "deny"
priority = 999
`;

/** Runs of the real Gemini CLI: it ends as opencode does, but it does not repeat a stream that breaks off. */
export const SCENARIOS: Scenario[] = [
  ...OPENCODE.filter(({ name }) => name !== 'stream-cut-recovered' && name !== DENIED.name),
  {
    ...DENIED,
    home: { '.gemini/policies/rules.toml': POLICY },
    denied: 'denied by policy',
  },
  { name: 'stream-cut', turns: [{ cut: 'middle' }], outcome: { kind: 'error', says: 'terminated' } },
];
