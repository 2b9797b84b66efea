// session-agent [SCRIPT]: an agent of the Agent Client Protocol without a model, for tests of sessions. It writes to opened.txt
// how its session began and whether the prompt says that the last attempt failed, and then runs SCRIPT.
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const KEPT = `${process.env.HOME}/.codex/sessions/kept`;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
let opened = 'new';

const ANSWERS = {
  initialize: () => ({ result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } }),
  'session/new'() {
    writeFileSync(KEPT, 'x');
    return { result: { sessionId: 'session-1' } };
  },
  'session/load'({ sessionId }) {
    if (!existsSync(KEPT)) return { error: { code: -32002, message: 'Resource not found' } };
    opened = `loaded ${sessionId}`;
    return { result: {} };
  },
  'session/prompt'({ sessionId, prompt: [{ text }] }) {
    writeFileSync('opened.txt', `${opened}, ${text.includes('The last attempt failed') ? 'again' : 'at first'}\n`);
    spawnSync('sh', ['-c', process.argv[2] ?? 'true']);
    const content = { type: 'text', text: JSON.stringify({ status: 'ok', summary: 'Done.' }) };
    send({
      method: 'session/update',
      params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content } },
    });
    return { result: { stopReason: 'end_turn' } };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) send({ id, ...(ANSWERS[method]?.(params) ?? { error: { code: -32601, message: 'unknown' } }) });
}
