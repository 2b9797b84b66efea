// acp-agent SCENARIO: an agent of the Agent Client Protocol without a model, for tests of the client.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const scenario = JSON.parse(process.argv[2] ?? '{}');
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (more) => send({ method: 'session/update', params: { sessionId: 's', update: more } });
const say = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const seen = [];
let sessions = 0;
let promptId;

const ANSWERS = {
  initialize: () => ({
    protocolVersion: scenario.version ?? 1,
    agentCapabilities: {},
    authMethods: scenario.methods ?? [],
    agentInfo: { name: 'scripted', version: '1' },
  }),
  authenticate: () => ({}),
  'session/new': () => {
    sessions += 1;
    if (scenario.methods && sessions === 1) return { error: { code: -32000, message: 'Authentication required' } };
    const { modes, configOptions } = scenario;
    return { sessionId: 's', ...(modes && { modes }), ...(configOptions && { configOptions }) };
  },
  'session/set_mode': () => ({}),
  'session/set_config_option': () => ({ configOptions: [] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  seen.push(message);
  const { id, method } = message;
  if (method === 'session/prompt') prompted(message);
  else if (method === undefined) end(message);
  else {
    const answer = ANSWERS[method]?.(message) ?? { error: { code: -32601, message: 'unknown' } };
    if (method === 'session/new') say('about myself');
    send('error' in answer ? { id, ...answer } : { id, result: answer });
  }
}

function prompted({ id }) {
  promptId = id;
  if (scenario.leaves) spawn('sleep', [String(scenario.leaves)], { stdio: 'inherit' });
  if (scenario.runs)
    update({ sessionUpdate: 'tool_call', toolCallId: 'a', kind: 'execute', title: 'x', ...scenario.runs });
  if (scenario.exits !== undefined) process.exit(scenario.exits);
  if (scenario.floods) return void process.stdout.write('x'.repeat(scenario.floods));
  if (scenario.prints) process.stdout.write(scenario.prints);
  if (scenario.says) say(scenario.says);
  if (scenario.asks === undefined) return end();
  send({
    id: 'p1',
    method: 'session/request_permission',
    params: {
      sessionId: 's',
      toolCall: { toolCallId: 'a', title: scenario.title ?? 'git push' },
      options: scenario.asks,
    },
  });
}

/** Says what it received, and ends its turn. */
function end(permission) {
  const methods = seen.map(({ method }) => method).filter((method) => method !== undefined);
  say(JSON.stringify({ methods, seen: seen.filter(({ method }) => /set_|new|prompt/.test(method ?? '')), permission }));
  send({ id: promptId, result: { stopReason: scenario.stopReason ?? 'end_turn' } });
}
