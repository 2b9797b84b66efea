// codex-client CODEX SCHEMA
//
// Runs one turn of CODEX, the program of Codex, by its app server. Reads lines {"id": "…", "text": "…"} from stdin: the first
// is the prompt, and each further one a message, which is added to the running turn. Prints the lines of
// `codex exec --json`, and {"type":"message.received","id":"…"} for a message that the model gets. SCHEMA is the file with
// the schema of the answer. Exits 0 once the turn has been completed, 1 after an error, and with the exit code of a Codex
// that ends before.
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
  },
  'item/completed'({ item }) {
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
  'turn/completed'({ turn: { status, error } }) {
    const isDone = status === 'completed';
    if (isDone) print({ type: 'turn.completed', usage });
    else print({ type: 'turn.failed', error: { message: error?.message ?? `the turn was ${status}` } });
    exit(isDone ? 0 : 1);
  },
};

const [program, schemaFile] = process.argv.slice(2);
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

/** Requests: the id of each to the functions of its promise. */
const asked = new Map();
let threadId;
let usage = {};

createInterface({ input: codex.stdout }).on('line', (line) => {
  // Anything else was not printed by Codex.
  if (line.startsWith('{')) receive(JSON.parse(line));
});
const given = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
try {
  await work();
} catch (error) {
  print({ type: 'error', message: error.message });
  await exit(1);
}

/**
 * One thread with one turn; its end ends the program. The thread has the folder, sandbox and approvals of the process and its
 * configuration: one that is given them here trusts the folder, and loads servers and hooks of the repository.
 */
async function work() {
  await ask('initialize', {
    clientInfo: { name: 'halo', title: 'halo', version: '1' },
    capabilities: { experimentalApi: false, requestAttestation: false, optOutNotificationMethods: PARTS },
  });
  send({ method: 'initialized' });
  const { thread } = await ask('thread/start', {});
  threadId = thread.id;
  print({ type: 'thread.started', thread_id: threadId });
  const { value: prompt } = await given.next();
  const { turn } = await ask('turn/start', { threadId, input: inputOf(prompt), outputSchema });
  for await (const line of given) {
    const { id } = JSON.parse(line);
    const message = { threadId, expectedTurnId: turn.id, clientUserMessageId: id, input: inputOf(line) };
    // Codex refuses it if the turn has just ended.
    await ask('turn/steer', message).catch(() => undefined);
  }
}

function inputOf(line) {
  return [{ type: 'text', text: JSON.parse(line).text }];
}

function ask(method, params) {
  return new Promise((resolve, reject) => {
    const id = asked.size + 1;
    asked.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

function send(message) {
  codex.stdin.write(`${JSON.stringify(message)}\n`);
}

function receive({ id, method, params, result, error }) {
  if (method === undefined) {
    const { resolve, reject } = asked.get(id) ?? {};
    if (error === undefined) resolve?.(result);
    else reject?.(new Error(error.message));
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
