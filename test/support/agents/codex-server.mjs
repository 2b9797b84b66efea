#!/usr/bin/env node
// An app server of Codex without a model, for tests of the client: does what the JSON in CODEX_SCENARIO says.
import { createInterface } from 'node:readline';

const scenario = JSON.parse(process.env.CODEX_SCENARIO ?? '{}');
const THREAD = 'thread-1';
const TURN = 'turn-1';
const print = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const notify = (method, params) => print({ method, params: { threadId: THREAD, turnId: TURN, ...params } });
const complete = (item) => notify('item/completed', { item });
const seen = [];

const ANSWERS = {
  initialize: () => ({}),
  'thread/start': () => ({ thread: { id: THREAD } }),
  'turn/start': () => ({ turn: { id: TURN } }),
  'turn/steer': () => (scenario.refuses ? undefined : { turnId: TURN }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  seen.push(message);
  const { id, method, params } = message;
  if (method === undefined) end();
  if (id === undefined || method === undefined) continue;
  const result = ANSWERS[method]?.();
  print(result === undefined ? { id, error: { code: -32600, message: 'no active turn to steer' } } : { id, result });
  if (method === scenario.fails) print({ id, error: { code: -32600, message: 'it does not work' } });
  if (method === 'turn/start') begin(params);
  if (method === 'turn/steer') {
    const { clientUserMessageId: clientId, input: content } = params;
    if (!scenario.refuses) complete({ type: 'userMessage', clientId, content });
    end();
  }
}

function begin({ input: content }) {
  notify('turn/started');
  complete({ type: 'userMessage', clientId: null, content });
  for (const line of scenario.prints ?? []) process.stdout.write(`${line}\n`);
  for (const [method, params] of scenario.notifies ?? []) notify(method, params);
  if (scenario.exits !== undefined) process.exit(scenario.exits);
  if (scenario.asks) print({ id: 'of-codex', method: scenario.asks, params: { threadId: THREAD } });
  else if (!scenario.waits) end();
}

/** Says what it received, and ends the turn. */
function end() {
  complete({ type: 'agentMessage', text: JSON.stringify({ argv: process.argv.slice(2), seen }) });
  const { status = 'completed', message } = scenario.end ?? {};
  notify('turn/completed', { turn: { id: TURN, status, error: message === undefined ? null : { message } } });
}
