// acp-agent SCENARIO: an agent of the Agent Client Protocol without a model, for tests of the client.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const scenario = JSON.parse(process.argv[2] ?? '{}');
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (more) => send({ method: 'session/update', params: { sessionId: 's', update: more } });
const say = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const seen = [];
let sessions = 0;
/** Ids of requests for prompts that have no answer yet. */
let prompts = [];
/** How many messages its first turn waits for. */
let toWait = scenario.waits ?? 0;

const ANSWERS = {
  initialize: () => ({
    protocolVersion: scenario.version ?? 1,
    agentCapabilities: scenario.can ?? {},
    authMethods: scenario.methods ?? [],
    agentInfo: { name: scenario.name ?? 'scripted', version: '1' },
    ...(scenario.steers && { _meta: { steering: { supported: true } } }),
  }),
  authenticate: () => ({}),
  'session/new': () => {
    sessions += 1;
    if (scenario.methods && sessions === 1) return { error: { code: -32000, message: 'Authentication required' } };
    const { modes, configOptions } = scenario;
    return { sessionId: 's', ...(modes && { modes }), ...(configOptions && { configOptions }) };
  },
  'session/load': () => scenario.loads ?? {},
  'session/resume': () => scenario.loads ?? {},
  'session/set_mode': () => ({}),
  'session/set_config_option': () => ({ configOptions: [] }),
  '_session/steering': () => ({ outcome: scenario.steers }),
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
    if (method === '_session/steering' && --toWait <= 0) end();
  }
}

function prompted({ id }) {
  prompts.push(id);
  if (prompts.length > 1) toWait -= 1;
  if (scenario.leaves) spawn('sleep', [String(scenario.leaves)], { stdio: 'inherit' });
  if (scenario.runs)
    update({ sessionUpdate: 'tool_call', toolCallId: 'a', kind: 'execute', title: 'x', ...scenario.runs });
  if (scenario.exits !== undefined) process.exit(scenario.exits);
  if (scenario.floods) return void process.stdout.write('x'.repeat(scenario.floods));
  if (scenario.prints) process.stdout.write(scenario.prints);
  if (scenario.says) say(scenario.says);
  if (scenario.asks === undefined) return toWait > 0 ? undefined : end();
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
  say(
    JSON.stringify({
      methods,
      seen: seen.filter(({ method }) => /set_|new|load|resume|prompt|steering/.test(method ?? '')),
      permission,
    }),
  );
  for (const id of prompts) send({ id, result: { stopReason: scenario.stopReason ?? 'end_turn' } });
  prompts = [];
}
