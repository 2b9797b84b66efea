#!/usr/bin/env node
// An app server of Codex without a model, for tests of the client: does what the JSON in CODEX_SCENARIO says.
import { createInterface } from 'node:readline';

const scenario = JSON.parse(process.env.CODEX_SCENARIO ?? '{}');
const THREAD = 'thread-1';
const print = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const notify = (method, params) => print({ method, params: { threadId: THREAD, ...params } });
const complete = (item) => notify('item/completed', { item });
const seen = [];
const refusals = [...(scenario.refuses ?? [])];
let turns = 0;
let isRunning = false;
let toWait = scenario.waits ?? 0;

const ANSWERS = {
  initialize: () => ({}),
  'thread/start': () => ({ thread: { id: THREAD } }),
  'thread/resume': () => ({ thread: { id: THREAD } }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  seen.push(message);
  const { id, method, params } = message;
  if (method === undefined) end();
  if (id === undefined || method === undefined) continue;
  if (method === scenario.fails) print({ id, error: { code: -32600, message: 'it does not work' } });
  else if (method === 'turn/start') take(id, params);
  else print({ id, result: ANSWERS[method]?.() });
}

/** A turn ends once it has as many messages as it waits for. */
function take(id, { clientUserMessageId: clientId = null, input: content }) {
  if (refusals[0] === clientId) {
    refusals.shift();
    const refuse = () => print({ id, error: { code: -32600, message: 'the turn takes no input' } });
    if (!isRunning) return refuse();
    const [first, then] = scenario.late ? [end, refuse] : [refuse, end];
    first();
    return then();
  }
  const isFirst = !isRunning;
  if (isFirst) turns += 1;
  isRunning = true;
  print({ id, result: { turn: { id: `turn-${turns}` } } });
  if (isFirst) notify('turn/started');
  complete({ type: 'userMessage', clientId, content });
  if (clientId === null) begin();
  else if (toWait > 0) toWait -= 1;
  if (toWait === 0 && !scenario.asks && refusals.length === 0) end();
}

function begin() {
  for (const line of scenario.prints ?? []) process.stdout.write(`${line}\n`);
  for (const [method, params] of scenario.notifies ?? []) notify(method, params);
  if (scenario.exits !== undefined) process.exit(scenario.exits);
  if (toWait > 0 || refusals.length > 0) notify('item/started', { item: { type: 'webSearch', id: 'search' } });
  if (scenario.asks) print({ id: 'of-codex', method: scenario.asks, params: { threadId: THREAD } });
}

/** Says what it received, and ends the turn. */
function end() {
  isRunning = false;
  complete({ type: 'agentMessage', text: JSON.stringify({ argv: process.argv.slice(2), seen }) });
  const { status = 'completed', message } = scenario.end ?? {};
  const error = message === undefined ? null : { message };
  notify('turn/completed', { turn: { id: `turn-${turns}`, status, error } });
}
