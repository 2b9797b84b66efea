import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chatChunks, chatDocument } from './chat-events.ts';
import { geminiDocument, geminiEvents, startedGemini } from './gemini-events.ts';
import { messageDocument, messageEvents, startedMessage } from './messages-events.ts';
import {
  completedEvents,
  startedEvents,
  toolNames,
  type Content,
  type ResponseHead,
  type ToolCall,
} from './model-events.ts';

/** What the scripted model does when it is asked; each turn answers one request. */
export type Turn =
  /** The model calls the shell tool. */
  (
    | { run: string }
    /** The model writes a file by way of the shell tool. */
    | { write: string; content: string }
    /** The model calls apply_patch with this patch. */
    | { patch: string }
    /** The model calls a tool by its own name; `namespace`: that of an MCP server in the Responses API. */
    | { call: string; args: unknown; namespace?: string }
    /** A closing message in prose. */
    | { say: string }
    /** A closing message that is a JSON document; a call of StructuredOutput where that is offered. */
    | { json: unknown }
    /** An HTTP error; `body` defaults to the API's error shape. */
    | { fail: number; body?: unknown; headers?: Record<string, string> }
    /** The connection is closed after the headers, or in the middle of a message. */
    | { cut: 'headers' | 'middle' }
    /** Headers, and then nothing until the client leaves. */
    | { hang: true }
  ) & {
    /** What the model says before it calls a tool. */
    saying?: string;
    delayMs?: number;
    usage?: { input?: number; output?: number; cached?: number };
    /** The turn is repeated until a request contains this text; the next turn answers that one. */
    until?: string;
    /** Texts that the request has to contain; else it is answered with 400. */
    expect?: string[];
  };

/** Turns for the requests whose body contains `match`; without it, for all others. */
export interface Lane {
  match?: string;
  turns: Turn[];
}

export interface ModelRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface ModelServer {
  /** Base URL, to which e.g. `/responses` is appended. */
  url: string;
  requests: ModelRequest[];
  /** Turns that were not asked for, over all lanes. */
  remaining(): number;
  close(): Promise<void>;
}

/**
 * A server of the Responses, Chat Completions, Messages and Gemini APIs without a model: it follows a script. It answers 400
 * when the script has no turn left.
 */
export async function startModelServer(script: { turns: Turn[] } | { lanes: Lane[] }): Promise<ModelServer> {
  const lanes = ('lanes' in script ? script.lanes : [{ turns: script.turns }]).map((lane: Lane) => ({
    match: lane.match,
    turns: [...lane.turns],
  }));
  const requests: ModelRequest[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      requests.push({ method: req.method ?? '', path: req.url ?? '', headers: req.headers, body });
      if (req.url?.includes('/count_tokens') === true) return sendDocument(res, { input_tokens: 100 });
      const lane =
        lanes.find(({ match }) => match !== undefined && body.includes(JSON.stringify(match).slice(1, -1))) ??
        lanes.find(({ match }) => match === undefined);
      answer({
        res,
        path: req.url ?? '',
        body,
        turn: takeTurn(lane?.turns ?? [], body),
        id: `scripted${requests.length}`,
      }).catch((error: unknown) => sendError(res, 400, String(error)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    remaining: () => lanes.reduce((sum, lane) => sum + lane.turns.length, 0),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function takeTurn(turns: Turn[], body: string): Turn | undefined {
  const [next] = turns;
  if (next?.until === undefined) return turns.shift();
  if (!body.includes(next.until)) return next;
  turns.shift();
  return takeTurn(turns, body);
}

interface Exchange {
  res: ServerResponse;
  path: string;
  body: string;
  turn: Turn | undefined;
  id: string;
}

async function answer({ res, path, body, turn, id }: Exchange): Promise<void> {
  if (turn === undefined) return sendError(res, 400, 'the script of the model server has no turn left');
  const missing = (turn.expect ?? []).filter((text) => !body.includes(JSON.stringify(text).slice(1, -1)));
  if (missing.length > 0) return sendError(res, 400, `the request lacks ${JSON.stringify(missing)}`);
  if (turn.delayMs !== undefined) await sleep(turn.delayMs);
  if ('fail' in turn) return sendError(res, turn.fail, `scripted failure ${turn.fail}`, turn);
  const request = JSON.parse(body) as Request;
  const head = { id, model: request.model ?? '', usage: { input: 100, output: 10, cached: 0, ...turn.usage } };
  const api = APIS.find(({ end }) => path.split('?')[0]?.endsWith(end)) ?? APIS[0];
  if ('hang' in turn) return startStream(res);
  if ('cut' in turn) {
    startStream(res);
    const events = turn.cut === 'middle' ? api.started(head, 'This message is never finished.') : [];
    for (const event of events) writeEvent(res, event);
    setTimeout(() => res.destroy(), 30);
    return;
  }
  const said = content(turn, toolNames(request));
  if (request.stream !== true && api.document !== undefined) return sendDocument(res, api.document(head, said));
  startStream(res);
  for (const event of api.events(head, said, request)) writeEvent(res, event);
  res.end();
}

interface Request {
  model?: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

interface Api {
  /** The end of its path. */
  end: string;
  events(head: ResponseHead, content: Content, request: Request): object[];
  started(head: ResponseHead, text: string | undefined): object[];
  document?(head: ResponseHead, content: Content): object;
}

const APIS: [Api, ...Api[]] = [
  { end: '/responses', events: completedEvents, started: startedEvents },
  { end: ':streamGenerateContent', events: geminiEvents, started: startedGemini },
  { end: ':generateContent', events: geminiEvents, started: startedGemini, document: geminiDocument },
  { end: '/messages', events: messageEvents, started: startedMessage, document: messageDocument },
  {
    end: '/chat/completions',
    events: (head, said, { stream_options }) => chatChunks(head, said, stream_options?.include_usage === true),
    started: (head, text) => chatChunks(head, { text: text ?? '' }, false).slice(0, 1),
    document: chatDocument,
  },
];

function content(turn: Turn, offered: string[]): Content {
  const before = turn.saying === undefined ? {} : { text: turn.saying };
  if ('say' in turn) return { text: turn.say };
  if ('json' in turn) {
    const structured = offered.includes('StructuredOutput');
    return structured ? { call: { name: 'StructuredOutput', args: turn.json } } : { text: JSON.stringify(turn.json) };
  }
  if ('call' in turn) return { ...before, call: { name: turn.call, args: turn.args, namespace: turn.namespace } };
  if ('run' in turn) return { ...before, call: shellCall(turn.run, offered) };
  if ('write' in turn) return { ...before, call: shellCall(writeCommand(turn.write, turn.content), offered) };
  if ('patch' in turn) return { ...before, call: { name: 'apply_patch', input: turn.patch } };
  throw new Error(`no content in the turn ${JSON.stringify(turn)}`);
}

function shellCall(command: string, offered: string[]): ToolCall {
  const shell = ['Bash', 'bash', 'run_shell_command'].find((name) => offered.includes(name));
  if (shell !== undefined) return { name: shell, args: { command, description: 'Runs a command' } };
  if (!offered.includes('exec_command')) throw new Error(`no shell tool is offered, only ${offered.join(', ')}`);
  return { name: 'exec_command', args: { cmd: command, yield_time_ms: 30_000 } };
}

function writeCommand(path: string, text: string): string {
  // Without command substitution, which Gemini CLI refuses to run.
  return `mkdir -p '${dirname(path)}' && printf %s ${Buffer.from(text).toString('base64')} | base64 -d > '${path}'`;
}

function startStream(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.flushHeaders();
}

function writeEvent(res: ServerResponse, event: { type?: string }): void {
  const name = event.type === undefined ? '' : `event: ${event.type}\n`;
  res.write(`${name}data: ${JSON.stringify(event)}\n\n`);
}

function sendDocument(res: ServerResponse, document: object): void {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(document));
}

function sendError(
  res: ServerResponse,
  status: number,
  message: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
): void {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  res.writeHead(status, { 'content-type': 'application/json', ...options.headers });
  res.end(JSON.stringify(options.body ?? { type: 'error', error: { message, type, code: null, param: null } }));
}
