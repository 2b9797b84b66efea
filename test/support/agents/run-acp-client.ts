import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { shellQuote } from '../../../src/lib/text.ts';

const CLIENT = new URL('../../../docker/sandbox/acp-client.mjs', import.meta.url).pathname;
const AGENT = new URL('acp-agent.mjs', import.meta.url).pathname;

export interface Run {
  code: number | null;
  stdout: string;
  lines: { type: string; [member: string]: unknown }[];
  stderr: string;
  /** What the agent received. */
  received: { methods: string[]; seen: { method: string; params: Record<string, unknown> }[]; permission: unknown };
}

/** Runs the client with an agent that does what the scenario says. */
export async function run(scenario: object, env: Record<string, string> = {}): Promise<Run> {
  return runCommand(commandOf(scenario), env);
}

/** The same with a folder in which the session is kept. */
export async function runKept(scenario: object, folder: string): Promise<Run> {
  return follow(startClient(['--session', folder, commandOf(scenario)], {}), (child) => child.stdin.end(PROMPT));
}

/** The same for a shell command. */
export async function runCommand(command: string, env: Record<string, string> = {}): Promise<Run> {
  return follow(startClient([command], env), (child) => child.stdin.end(PROMPT));
}

/** Runs the client with messages: some that follow the prompt, and one after each turn. */
export async function runLive(scenario: object, { messages = [], afterwards = [] }: Given = {}): Promise<Run> {
  const later = [...afterwards];
  return follow(startClient(['--live', commandOf(scenario)], {}), (child) => {
    const write = (...lines: object[]) => child.stdin.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    write({ text: PROMPT }, ...messages);
    // As halo does: it keeps stdin open until nothing is left to do.
    child.stdout.on('data', (data: Buffer) => {
      if (!data.includes('"idle"')) return;
      if (later.length > 0) write(later.shift()!);
      else child.stdin.end();
    });
  });
}

interface Given {
  messages?: object[];
  afterwards?: object[];
}

const PROMPT = 'Implement it.\nAll of it.';

function commandOf(scenario: object): string {
  return [process.execPath, AGENT, JSON.stringify(scenario)].map(shellQuote).join(' ');
}

function startClient(args: string[], env: Record<string, string>) {
  return spawn(process.execPath, [CLIENT, ...args], { env: { PATH: process.env.PATH, ...env } });
}

type Client = ReturnType<typeof startClient>;

async function follow(child: Client, feed: (child: Client) => void): Promise<Run> {
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  feed(child);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Run['lines'][number]);
  const said = lines.findLast(({ update }) => (update as { content?: unknown } | undefined)?.content !== undefined);
  const content = (said?.update as { content: { text: string } } | undefined)?.content.text;
  const received = content?.startsWith('{') ? (JSON.parse(content) as Run['received']) : undefined;
  return {
    code: await ended,
    stdout,
    lines,
    stderr,
    received: received ?? { methods: [], seen: [], permission: undefined },
  };
}

/** The parameters of the request that the agent received. */
export function paramsOf({ received }: Run, method: string): Record<string, unknown> | undefined {
  return received.seen.find((each) => each.method === method)?.params;
}
