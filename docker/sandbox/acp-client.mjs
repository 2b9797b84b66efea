// acp-client [--live] [--session FOLDER] COMMAND
//
// Runs COMMAND, an agent of the Agent Client Protocol, for one prompt, which is read from stdin. Prints a JSON line for
// each update of the session, and at the end one of type "ended" or "error". Exits 0 once the agent has ended its turn,
// 1 after an error, and with the exit code of an agent that fails before.
//
// With --live, stdin has lines {"id": "…", "text": "…"}: the prompt, and then messages to the agent that works. Further lines
// of output: "listens" says whether they reach it in its turn or after; "queued", that the client has one; "received", that
// the agent does; "idle", that nothing is left to do until the next message. It exits after the end of stdin.
//
// With --session, the id of the session is kept in FOLDER, and the session that is there is continued, if the agent can.
import { spawn } from 'node:child_process';
import { lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const AUTH_REQUIRED = -32000;
/** Longer texts are not shown anyway. */
const MAX_TEXT = 16_384;
/** The last message is the answer. */
const MAX_MESSAGE = 1_000_000;
const END_MS = 2_000;
const MAX_ID = 1_000;
/** The container is the sandbox: modes in which agents neither ask nor start a sandbox of their own. */
const UNATTENDED = /^(?:bypassPermissions|(?:agent-)?full-access|yolo)$/;
const SILENT = ['available_commands_update', 'config_option_update', 'agent_thought_chunk', 'user_message_chunk'];

/** For claude-agent-acp: no settings and servers of the repository, no requests beside the turn. Others ignore it. */
const SETTINGS = {
  claudeCode: { options: { settingSources: ['user'], strictMcpConfig: true, promptSuggestions: false } },
};

/** By the name that they give themselves: agents that read a second prompt in the running turn. Others would stop it. */
const READ_IN_TURN = /^(?:OpenCode|Kilo)$/i;

const { values, positionals } = parseArgs({
  options: { live: { type: 'boolean' }, session: { type: 'string' } },
  allowPositionals: true,
});
const isLive = values.live === true;
const [command] = positionals;
const idFile = values.session && join(values.session, 'acp-session');
const { HALO_MODEL: model } = process.env;
const given = isLive ? readLines() : [{ text: await text(process.stdin) }];
/** What agents say before is about themselves. */
let isPrompted = false;

const agent = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
const ended = new Promise((resolve) => agent.on('exit', (code, signal) => resolve({ code, signal })));
// What the agent does not read is not an error; how it ends is.
agent.stdin.on('error', () => undefined);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => exit(143));

try {
  // Something that it has started may keep its output open.
  const closed = ended.then(() => after(END_MS)).then(() => Promise.reject(new Error('closed')));
  const { stopReason } = await Promise.race([connection().connectWith(stream(), work), closed]).catch(async (error) => {
    // An answer with an error has a number; without an answer, the reason is how the agent ended.
    const end = typeof error.code === 'number' ? undefined : await Promise.race([ended, after(END_MS)]);
    if (end === undefined) throw error;
    // What it printed on stderr says why.
    if (end.code) await exit(end.code);
    throw new Error(`it ended ${end.signal ? `by ${end.signal}` : 'without an error'} before its turn did`);
  });
  print({ type: 'ended', stopReason });
  agent.stdin.end();
  await Promise.race([ended, after(END_MS)]);
  await exit(0);
} catch (error) {
  const { message, data } = error;
  const details = data?.details ?? data?.message;
  print({ type: 'error', message: typeof details === 'string' ? `${message}: ${details}` : String(message) });
  await exit(1);
}

function after(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function stream() {
  return ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
}

function connection() {
  return client({ name: 'halo' })
    .onRequest(methods.client.session.requestPermission, ({ params: { options, toolCall } }) => {
      // Ids differ between agents; kinds do not.
      const option = ['allow_once', 'allow_always'].flatMap((kind) => options.filter((each) => each.kind === kind))[0];
      print({ type: 'permission', title: toolCall.title ?? '', kind: option?.kind ?? 'none' });
      const outcome =
        option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option.optionId };
      return { outcome };
    })
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (isPrompted && !SILENT.includes(update.sessionUpdate)) print({ type: 'update', update });
    });
}

/** One session with one prompt. */
async function work(context) {
  const { agent: ask } = methods;
  const {
    protocolVersion,
    agentInfo,
    authMethods = [],
    agentCapabilities: can = {},
    _meta: meta,
  } = await context.request(ask.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: 'halo', version: '1' },
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  if (protocolVersion !== PROTOCOL_VERSION)
    throw new Error(`it speaks version ${protocolVersion} of the Agent Client Protocol, halo ${PROTOCOL_VERSION}`);
  print({ type: 'started', name: agentInfo?.name ?? '', version: agentInfo?.version ?? '' });
  const place = { cwd: process.cwd(), mcpServers: [], _meta: SETTINGS };
  const saved = readId();
  const resume = can.sessionCapabilities?.resume ? ask.session.resume : can.loadSession ? ask.session.load : undefined;
  if (idFile && resume === undefined) print({ type: 'forgets' });
  const open =
    saved === undefined || resume === undefined
      ? () => context.request(ask.session.new, place)
      : async () => ({ ...(await context.request(resume, { ...place, sessionId: saved })), sessionId: saved });
  const session = await open().catch(async (error) => {
    const method = authMethods.find(({ id }) => /api.?key/i.test(id));
    if (error.code !== AUTH_REQUIRED || method === undefined) throw error;
    await context.request(ask.authenticate, { methodId: method.id });
    return open();
  });
  const { sessionId, modes, configOptions = [] } = session;
  if (idFile) writeFileSync(idFile, sessionId);
  const mode = modes?.availableModes.find(({ id }) => UNATTENDED.test(id));
  if (mode !== undefined && mode.id !== modes.currentModeId)
    await context.request(ask.session.setMode, { sessionId, modeId: mode.id });
  const choice = configOptions.find(({ category, type }) => category === 'model' && type === 'select');
  const values = choice?.options.flatMap((each) => each.options ?? [each]).map(({ value }) => value) ?? [];
  if (model && choice?.currentValue !== model && values.includes(model))
    await context.request(ask.session.setConfigOption, { sessionId, configId: choice.id, value: model });
  await new Promise(setImmediate);
  isPrompted = true;
  const inTurn = meta?.steering?.supported ? 'steer' : READ_IN_TURN.test(agentInfo?.name) ? 'prompt' : undefined;
  if (isLive) print({ type: 'listens', when: inTurn === undefined ? 'after' : 'turn' });
  return converse(context, sessionId, inTurn);
}

/** The id of the session to continue; undefined: none is kept. */
function readId() {
  if (!idFile) return undefined;
  // The agent may have put anything there.
  const found = lstatSync(idFile, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isFile() || found.size > MAX_ID) throw new Error('the id of the session cannot be read');
  return readFileSync(idFile, 'utf8');
}

/**
 * Gives the agent all that is given. `inTurn`: how a message reaches a running turn; undefined: not at all, so it waits for
 * the end of the turn. Resolves with the end of the last turn, or of one that does not end well.
 */
function converse(context, sessionId, inTurn) {
  return new Promise((resolve, reject) => {
    const waiting = [];
    let running = 0;
    let last;
    let isEnded = false;
    const prompt = ({ id, text: said }) => {
      running += 1;
      if (id !== undefined) print({ type: 'received', id });
      const params = { sessionId, prompt: [{ type: 'text', text: said }] };
      context.request(methods.agent.session.prompt, params).then((end) => {
        running -= 1;
        last = end;
        if (end.stopReason === 'end_turn') settle();
        else resolve(end);
      }, reject);
    };
    const settle = () => {
      if (running > 0) return;
      if (waiting.length > 0) return prompt(waiting.shift());
      if (isLive) print({ type: 'idle' });
      if (isEnded) resolve(last);
    };
    const take = async (message) => {
      if (message.id !== undefined) print({ type: 'queued', id: message.id });
      if (running === 0 || inTurn === 'prompt') return prompt(message);
      if (inTurn === 'steer' && (await steer(context, sessionId, message))) return;
      waiting.push(message);
      settle();
    };
    const takeAll = async () => {
      for await (const message of given) await take(message);
      isEnded = true;
      if (running === 0) resolve(last);
    };
    takeAll().catch(reject);
  });
}

/** Whether the running turn takes the message, by an extension of the protocol. */
async function steer(context, sessionId, { id, text: said }) {
  const params = {
    sessionId,
    prompt: [{ type: 'text', text: said }],
    _meta: { steering: { idleBehavior: 'promptRequired' } },
  };
  const { outcome } = await context.request('_session/steering', params).catch(() => ({}));
  if (outcome === 'injected') print({ type: 'received', id });
  return outcome === 'injected';
}

async function* readLines() {
  for await (const line of createInterface({ input: process.stdin })) yield JSON.parse(line);
}

function print(line) {
  const isMessage = line.update?.sessionUpdate === 'agent_message_chunk';
  const max = isMessage ? MAX_MESSAGE : MAX_TEXT;
  const short = (key, value) =>
    key === '_meta' ? ofTerminal(value) : typeof value === 'string' && value.length > max ? cut(value, max) : value;
  process.stdout.write(`${JSON.stringify(line, short)}\n`);
}

/** Some agents say only here what a command printed, and how it ended. */
function ofTerminal(meta) {
  const { terminal_output_delta, terminal_exit } = meta ?? {};
  return terminal_output_delta || terminal_exit ? { terminal_output_delta, terminal_exit } : undefined;
}

function cut(value, max) {
  return `${value.slice(0, max / 4)}\n…\n${value.slice((-max / 4) * 3)}`;
}

/** Ends with the agent and all that it started; what was printed has arrived by then. */
function exit(code) {
  try {
    process.kill(-agent.pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
  return new Promise(() => process.stdout.write('', () => process.exit(code)));
}
