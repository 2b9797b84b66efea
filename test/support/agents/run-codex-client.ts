import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { tempDir } from '../temp-dir.ts';

const CLIENT = new URL('../../../docker/sandbox/codex-client.mjs', import.meta.url).pathname;
const SERVER = new URL('codex-server.mjs', import.meta.url).pathname;

/** What the scripted server received from the client. */
interface Received {
  argv: string[];
  seen: { method?: string; params: Record<string, unknown>; error?: unknown }[];
}

export interface CodexRun {
  code: number | null;
  stdout: string;
  lines: { type: string; [member: string]: unknown }[];
  received: Received;
}

export const SCHEMA = { type: 'object' };

interface ClientOptions {
  /** Sent with the prompt. */
  messages?: object[];
  /** One is sent after each turn. */
  afterwards?: object[];
  /** Another than the scripted server. */
  program?: string;
  /** The session that it continues, and its model. */
  resumes?: [session: string, model: string];
}

/** Runs the client with an app server that does what the scenario says. */
export async function runCodexClient(
  scenario: object,
  { messages = [], afterwards = [], program = SERVER, resumes }: ClientOptions = {},
): Promise<CodexRun> {
  const schema = join(tempDir('halo-codex-client'), 'schema.json');
  writeFileSync(schema, JSON.stringify(SCHEMA));
  const env = { PATH: process.env.PATH, CODEX_SCENARIO: JSON.stringify(scenario) };
  const child = spawn(process.execPath, [CLIENT, program, schema, ...(resumes ?? [])], { env });
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const [now, later] = [[{ text: 'Implement it.\nAll of it.' }, ...messages], [...afterwards]];
  const write = (lines: object[]) => child.stdin.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  write(now);
  // As halo does: it keeps stdin open until a turn has been completed.
  child.stdout.on('data', (data: Buffer) => {
    if (!data.includes('"turn.completed"')) return;
    if (later.length > 0) write([later.shift()!]);
    else child.stdin.end();
  });
  const stdout = await text(child.stdout);
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CodexRun['lines'][number]);
  const said = lines.findLast(({ item }) => (item as { type?: string } | undefined)?.type === 'agent_message');
  const { text: content = '{"argv":[],"seen":[]}' } = (said?.item ?? {}) as { text?: string };
  return { code: await ended, stdout, lines, received: JSON.parse(content) as Received };
}
