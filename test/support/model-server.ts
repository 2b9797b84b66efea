import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { completedEvents, startedEvents, toolNames, type Content, type ToolCall } from './model-events.ts';

/** What the scripted model does when it is asked; each turn answers one request. */
export type Turn =
  /** The model calls the shell tool. */
  (
    | { run: string }
    /** The model writes a file by way of the shell tool. */
    | { write: string; content: string }
    /** The model calls apply_patch with this patch. */
    | { patch: string }
    /** A closing message in prose. */
    | { say: string }
    /** A closing message that is a JSON document. */
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
  /** Base URL, to which `/responses` is appended. */
  url: string;
  requests: ModelRequest[];
  /** Turns that were not asked for, over all lanes. */
  remaining(): number;
  close(): Promise<void>;
}

/** A Responses API server without a model: it follows a script. It answers 400 when the script has no turn left. */
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
      const lane =
        lanes.find(({ match }) => match !== undefined && body.includes(JSON.stringify(match).slice(1, -1))) ??
        lanes.find(({ match }) => match === undefined);
      answer({ res, body, turn: lane?.turns.shift(), id: `scripted${requests.length}` }).catch((error: unknown) =>
        sendError(res, 400, String(error)),
      );
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

interface Exchange {
  res: ServerResponse;
  body: string;
  turn: Turn | undefined;
  id: string;
}

async function answer({ res, body, turn, id }: Exchange): Promise<void> {
  if (turn === undefined) return sendError(res, 400, 'the script of the model server has no turn left');
  const missing = (turn.expect ?? []).filter((text) => !body.includes(JSON.stringify(text).slice(1, -1)));
  if (missing.length > 0) return sendError(res, 400, `the request lacks ${JSON.stringify(missing)}`);
  if (turn.delayMs !== undefined) await sleep(turn.delayMs);
  if ('fail' in turn) return sendError(res, turn.fail, `scripted failure ${turn.fail}`, turn);
  const request = JSON.parse(body) as { model?: string };
  const head = { id, model: request.model ?? '', usage: { input: 100, output: 10, cached: 0, ...turn.usage } };
  if ('hang' in turn) return startStream(res);
  if ('cut' in turn) {
    startStream(res);
    const events = turn.cut === 'middle' ? startedEvents(head, 'This message is never finished.') : [];
    for (const event of events) writeEvent(res, event);
    setTimeout(() => res.destroy(), 30);
    return;
  }
  const events = completedEvents(head, content(turn, toolNames(request)));
  startStream(res);
  for (const event of events) writeEvent(res, event);
  res.end();
}

function content(turn: Turn, offered: string[]): Content {
  const before = turn.saying === undefined ? {} : { text: turn.saying };
  if ('say' in turn) return { text: turn.say };
  if ('json' in turn) return { text: JSON.stringify(turn.json) };
  if ('run' in turn) return { ...before, call: shellCall(turn.run, offered) };
  if ('write' in turn) return { ...before, call: shellCall(writeCommand(turn.write, turn.content), offered) };
  if ('patch' in turn) return { ...before, call: { name: 'apply_patch', input: turn.patch } };
  throw new Error(`no content in the turn ${JSON.stringify(turn)}`);
}

function shellCall(command: string, offered: string[]): ToolCall {
  if (!offered.includes('exec_command')) throw new Error(`no shell tool is offered, only ${offered.join(', ')}`);
  return { name: 'exec_command', args: { cmd: command, yield_time_ms: 30_000 } };
}

function writeCommand(path: string, text: string): string {
  return `mkdir -p "$(dirname '${path}')" && printf %s ${Buffer.from(text).toString('base64')} | base64 -d > '${path}'`;
}

function startStream(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.flushHeaders();
}

function writeEvent(res: ServerResponse, event: { type: string }): void {
  res.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function sendError(
  res: ServerResponse,
  status: number,
  message: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
): void {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  res.writeHead(status, { 'content-type': 'application/json', ...options.headers });
  res.end(JSON.stringify(options.body ?? { error: { message, type, code: null, param: null } }));
}
