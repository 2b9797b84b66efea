import { ANSWER, COMMON, DENIED, EXPLAINED, type Scenario } from './scenarios.ts';

/** Runs of the real Codex CLI against the scripted model server. */
export const SCENARIOS: Scenario[] = [
  ...COMMON,
  ...EXPLAINED,
  {
    name: 'success',
    turns: [
      { run: 'printf one; ls' },
      { write: 'greeting.txt', content: "it's hello\n" },
      { patch: "*** Begin Patch\n*** Update File: greeting.txt\n@@\n-it's hello\n+hello\n*** End Patch\n" },
      { json: ANSWER },
    ],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
  {
    ...DENIED,
    turns: [
      {
        call: 'exec_command',
        args: { cmd: 'git push', sandbox_permissions: 'require_escalated', justification: 'push' },
      },
      ...DENIED.turns.slice(1),
    ],
    denied: 'you cannot ask for escalated permissions',
  },
  {
    name: 'patch-refused',
    turns: [{ patch: '*** Begin Patch\n*** Update File: absent.txt\n@@\n-a\n+b\n*** End Patch\n' }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
  {
    name: 'other-json',
    turns: [{ json: { status: 'done' } }],
    outcome: { kind: 'invalid', says: '"status" must be' },
  },
  {
    name: 'unknown-model',
    model: 'house-model',
    turns: [{ run: 'true' }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
  {
    name: 'usage-limit',
    turns: [
      {
        fail: 429,
        body: { error: { type: 'usage_limit_reached', message: 'limit', plan_type: 'plus', resets_at: 4102444800 } },
      },
    ],
    outcome: { kind: 'error', says: 'usage limit' },
  },
];
