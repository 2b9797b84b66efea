import type { AgentOutcome } from '../../src/core/agent.ts';
import type { Turn } from '../support/model-server.ts';

/** One run of the real CLI against the scripted model server, and what has to come of it. */
export interface Scenario {
  name: string;
  model?: string;
  turns: Turn[];
  outcome: { kind: AgentOutcome['kind']; says?: string };
  /** Files of a user in the home of the agent: path to content. */
  home?: Record<string, string>;
  /** Part of what it tells of a permission that it did not get. */
  denied?: string;
}

const ANSWER = { status: 'ok', summary: 'Added the greeting.' };
/** What comes of a model that may not do what it wants. */
export const DENIED = {
  name: 'denied',
  outcome: { kind: 'answer', says: 'I may not push.' },
  turns: [{ run: 'git push' }, { json: { status: 'failed', summary: 'I may not push.' } }],
} satisfies Scenario;

const repeat = (turn: Turn, times: number): Turn[] => Array.from({ length: times }, () => turn);

export const SCENARIOS: Scenario[] = [
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
    name: 'needs-human',
    turns: [{ json: { status: 'needs_human', summary: 'Which currency?' } }],
    outcome: { kind: 'answer', says: 'Which currency?' },
  },
  {
    name: 'command-failed',
    turns: [{ run: 'echo out; echo err >&2; exit 3' }, { json: { status: 'failed', summary: 'It does not build.' } }],
    outcome: { kind: 'answer', says: 'It does not build.' },
  },
  {
    name: 'patch-refused',
    turns: [{ patch: '*** Begin Patch\n*** Update File: absent.txt\n@@\n-a\n+b\n*** End Patch\n' }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
  {
    name: 'prose',
    turns: [{ say: 'All done, enjoy!' }],
    outcome: { kind: 'invalid', says: 'not the JSON that was asked for: "All done, enjoy!"' },
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
  { name: 'http-400', turns: [{ fail: 400 }], outcome: { kind: 'error', says: 'scripted failure 400' } },
  { name: 'http-401', turns: repeat({ fail: 401 }, 30), outcome: { kind: 'error', says: 'refused the key' } },
  { name: 'http-429', turns: repeat({ fail: 429 }, 30), outcome: { kind: 'error', says: 'limits the rate' } },
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
  { name: 'http-500', turns: repeat({ fail: 500 }, 30), outcome: { kind: 'error', says: 'provider failed' } },
  {
    name: 'http-500-recovered',
    turns: [{ fail: 500 }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
  { name: 'stream-cut', turns: repeat({ cut: 'middle' }, 30), outcome: { kind: 'error', says: 'broke off' } },
  {
    name: 'stream-cut-recovered',
    turns: [{ cut: 'middle' }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
];
