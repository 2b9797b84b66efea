// codex-client CODEX SCHEMA [SESSION MODEL]
//
// Runs CODEX, the program of Codex, by its app server. Reads lines {"id": "…", "text": "…"} from stdin: the first is the
// prompt, and each further one a message, which becomes part of the running turn, or else a turn of its own. Prints the
// lines of `codex exec --json`, {"type":"message.queued","id":"…"} for a message, and {"type":"message.received","id":"…"}
// once the model gets it. SCHEMA is the file with the schema of the answer. With SESSION, its id, a session is continued, with
// MODEL. Exits 0 once stdin has ended and all turns are completed, 1 after an error, and with the exit code of a Codex that
// ends before.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Notifications about parts of items, which `codex exec` does not print either. */
const PARTS = [
  'item/agentMessage/delta',
  'item/commandExecution/outputDelta',
  'item/fileChange/outputDelta',
  'item/reasoning/summaryTextDelta',
  'item/reasoning/textDelta',
];
const UNKNOWN_METHOD = -32601;

/** Items during which the model writes, or is about to. */
const TEXTS = ['userMessage', 'agentMessage', 'reasoning', 'plan', 'hookPrompt', 'contextCompaction'];

const STATUS = { inProgress: 'in_progress' };

/** Items in the words of `codex exec`; others mean nothing to halo. */
const ITEMS = {
  agentMessage: ({ text }) => ({ type: 'agent_message', text }),
  commandExecution: ({ command, aggregatedOutput, exitCode, status }) => ({
    type: 'command_execution',
    command,
    aggregated_output: aggregatedOutput ?? '',
    exit_code: exitCode,
    status: STATUS[status] ?? status,
  }),
  fileChange: ({ changes, status }) => ({
    type: 'file_change',
    changes: changes.map(({ path, kind }) => ({ path, kind: kind.type })),
    status: STATUS[status] ?? status,
  }),
};

/** What notifications mean. */
const READERS = {
  'turn/started': () => print({ type: 'turn.started' }),
  'item/started'({ item }) {
    if (item.type !== 'agentMessage') printItem('item.started', item);
    if (TEXTS.includes(item.type)) return;
    actions.add(item.id);
    giveWaiting();
  },
  'item/completed'({ item }) {
    actions.delete(item.id);
    if (item.type === 'userMessage' && item.clientId) print({ type: 'message.received', id: item.clientId });
    else printItem('item.completed', item);
  },
  'thread/tokenUsage/updated'({ tokenUsage: { total } }) {
    usage = {
      input_tokens: total.inputTokens,
      cached_input_tokens: total.cachedInputTokens,
      cache_write_input_tokens: total.cacheWriteInputTokens,
      output_tokens: total.outputTokens,
      reasoning_output_tokens: total.reasoningOutputTokens,
    };
  },
  warning: ({ message }) => print({ type: 'item.completed', item: { type: 'error', message } }),
  error({ error: { message, additionalDetails } }) {
    print({ type: 'error', message: additionalDetails ? `${message} (${additionalDetails})` : message });
  },
  'turn/completed'({ turn: { id, status, error } }) {
    completed.add(id);
    actions.clear();
    if (status === 'completed') {
      print({ type: 'turn.completed', usage });
      giveWaiting();
      endIfDone();
    } else {
      print({ type: 'turn.failed', error: { message: error?.message ?? `the turn was ${status}` } });
      exit(1);
    }
  },
};

const [program, schemaFile, saved, model] = process.argv.slice(2);
const outputSchema = JSON.parse(readFileSync(schemaFile, 'utf8'));
const codex = spawn(program, ['app-server', '--strict-config'], {
  stdio: ['pipe', 'pipe', 'inherit'],
  // halo reads its log.
  env: { ...process.env, NO_COLOR: '1' },
});
// What Codex does not read is not an error; how it ends is.
codex.stdin.on('error', () => undefined);
codex.on('close', (code) => exit(code || 1));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => exit(143));

/** Requests without an answer: the id of each to what reads it. */
const asked = new Map();
let lastId = 0;
let threadId;
let usage = {};
/** Ids of turns. */
const begun = new Set();
const completed = new Set();
/** Ids of commands and other actions that have begun. */
const actions = new Set();
/** Messages that the running turn cannot take yet. */
const waiting = [];
let isEnded = false;

createInterface({ input: codex.stdout }).on('line', (line) => {
  // Anything else was not printed by Codex.
  if (line.startsWith('{')) receive(JSON.parse(line));
});
const given = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
await begin();
for await (const line of given) take(JSON.parse(line));
isEnded = true;
endIfDone();

/**
 * Starts or continues a thread, with the folder, sandbox and approvals of the process and its configuration: one that is
 * given them here trusts the folder, and loads servers and hooks of the repository.
 */
async function begin() {
  await ask('initialize', {
    clientInfo: { name: 'halo', title: 'halo', version: '1' },
    capabilities: { experimentalApi: false, requestAttestation: false, optOutNotificationMethods: PARTS },
  });
  send({ method: 'initialized' });
  ({
    thread: { id: threadId },
  } = saved ? await ask('thread/resume', { threadId: saved, model }) : await ask('thread/start', {}));
  print({ type: 'thread.started', thread_id: threadId });
}

/** While the model writes, a message waits: Codex would ask the model again, and lose what it has written. */
function take(message) {
  if (message.id !== undefined) print({ type: 'message.queued', id: message.id });
  if (isBusy() && actions.size === 0) waiting.push(message);
  else give(message);
}

function giveWaiting() {
  for (const message of waiting.splice(0)) give(message);
}

/**
 * Gives Codex the prompt or a message: to the running turn, if there is one. What a turn refuses is given to the next one,
 * also if that turn ends before its refusal arrives.
 */
function give({ id, text }) {
  const wasBusy = isBusy();
  const params = { threadId, clientUserMessageId: id, input: [{ type: 'text', text }], outputSchema };
  request('turn/start', params, ({ result, error }) => {
    if (error === undefined) begun.add(result.turn.id);
    else if (isBusy()) waiting.push({ id, text });
    else if (wasBusy) give({ id, text });
    else fail(error);
  });
}

function isBusy() {
  return asked.size > 0 || [...begun].some((id) => !completed.has(id));
}

function endIfDone() {
  if (isEnded && !isBusy()) exit(0);
}

function fail({ message }) {
  print({ type: 'error', message });
  return exit(1);
}

function ask(method, params) {
  return new Promise((resolve) =>
    request(method, params, ({ result, error }) => (error === undefined ? resolve(result) : fail(error))),
  );
}

function request(method, params, read) {
  const id = ++lastId;
  asked.set(id, read);
  send({ id, method, params });
}

function send(message) {
  codex.stdin.write(`${JSON.stringify(message)}\n`);
}

function receive({ id, method, params, result, error }) {
  if (method === undefined) {
    const read = asked.get(id);
    asked.delete(id);
    read?.({ result, error });
  } else if (id !== undefined) {
    send({ id, error: { code: UNKNOWN_METHOD, message: 'halo grants no further rights' } });
  } else if (params.threadId === threadId && threadId !== undefined) {
    // Subagents have threads of their own.
    READERS[method]?.(params);
  }
}

function printItem(type, item) {
  const read = ITEMS[item.type];
  if (read !== undefined) print({ type, item: read(item) });
}

function print(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Ends with Codex; what was printed has arrived by then. */
function exit(code) {
  codex.kill('SIGKILL');
  return new Promise(() => process.stdout.write('', () => process.exit(code)));
}
