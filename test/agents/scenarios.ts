import type { AgentOutcome } from '../../src/core/agent.ts';
import type { Turn } from '../support/model/model-server.ts';

/** One run of a real CLI against the scripted model server, and what has to come of it. */
export interface Scenario {
  name: string;
  model?: string;
  turns: Turn[];
  outcome: { kind: AgentOutcome['kind']; says?: string };
  /** Files of a user in the home of the agent: path to content. */
  home?: Record<string, string>;
  /** Part of its message about a permission that was denied. */
  denied?: string;
}

export const ANSWER = { status: 'ok', summary: 'Added the greeting.' };

export const repeat = (turn: Turn, times: number): Turn[] => Array.from({ length: times }, () => turn);

/** What comes of a model that may not do what it wants. */
export const DENIED = {
  name: 'denied',
  outcome: { kind: 'answer', says: 'I may not push.' },
  turns: [{ run: 'git push' }, { json: { status: 'failed', summary: 'I may not push.' } }],
} satisfies Scenario;

/** How a story goes well where the model has nothing but a shell. */
export const SUCCESS: Scenario = {
  name: 'success',
  turns: [
    { saying: 'I look around first.', run: 'printf one; ls' },
    { write: 'greeting.txt', content: 'hello\n' },
    { json: ANSWER },
  ],
  outcome: { kind: 'answer', says: 'Added the greeting.' },
};

/** What comes of these is the same with all agents. */
export const COMMON: Scenario[] = [
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
    name: 'prose',
    // Claude Code asks once more.
    turns: repeat({ say: 'All done, enjoy!' }, 2),
    outcome: { kind: 'invalid', says: 'not the JSON that was asked for: "All done, enjoy!"' },
  },
  { name: 'http-400', turns: repeat({ fail: 400 }, 30), outcome: { kind: 'error', says: 'scripted failure 400' } },
  {
    name: 'http-500-recovered',
    turns: [{ fail: 500 }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
];

/** Codex and Claude Code say themselves what a failure of the provider means. */
export const EXPLAINED: Scenario[] = [
  { name: 'http-401', turns: repeat({ fail: 401 }, 30), outcome: { kind: 'error', says: 'refused the key' } },
  { name: 'http-429', turns: repeat({ fail: 429 }, 30), outcome: { kind: 'error', says: 'limits the rate' } },
  { name: 'http-500', turns: repeat({ fail: 500 }, 30), outcome: { kind: 'error', says: 'provider failed' } },
  { name: 'stream-cut', turns: repeat({ cut: 'middle' }, 30), outcome: { kind: 'error', says: 'broke off' } },
  {
    name: 'stream-cut-recovered',
    turns: [{ cut: 'middle' }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
];
