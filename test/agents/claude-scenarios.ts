import type { Turn } from '../support/model-server.ts';
import { DENIED, type Scenario } from './codex-scenarios.ts';

const ANSWER = { status: 'ok', summary: 'Added the greeting.' };
const repeat = (turn: Turn, times: number): Turn[] => Array.from({ length: times }, () => turn);

/** Runs of the real Claude Code against the scripted model server. */
export const SCENARIOS: Scenario[] = [
  {
    ...DENIED,
    home: { '.claude/settings.json': '{ "permissions": { "deny": ["Bash(git push:*)"] } }' },
    denied: 'Bash',
  },
  {
    name: 'success',
    turns: [
      { saying: 'I look around first.', run: 'printf one; ls' },
      { write: 'greeting.txt', content: 'hello\n' },
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
    name: 'prose',
    turns: [{ say: 'All done, enjoy!' }, { say: 'All done, enjoy!' }],
    outcome: { kind: 'invalid', says: 'not the JSON that was asked for: "All done, enjoy!"' },
  },
  {
    name: 'other-json',
    turns: [{ json: { status: 'done' } }, { json: ANSWER }],
    outcome: { kind: 'answer', says: 'Added the greeting.' },
  },
  { name: 'http-400', turns: repeat({ fail: 400 }, 30), outcome: { kind: 'error', says: 'scripted failure 400' } },
  { name: 'http-401', turns: repeat({ fail: 401 }, 30), outcome: { kind: 'error', says: 'refused the key' } },
  { name: 'http-429', turns: repeat({ fail: 429 }, 30), outcome: { kind: 'error', says: 'limits the rate' } },
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
