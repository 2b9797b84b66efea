import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { resolve } from 'node:path';
import type { HaloHome } from './halo/halo-process.ts';

/** The official client, connected to halo. */
export interface McpClient {
  client: Client;
  /** The names of the tools. */
  tools(): Promise<string[]>;
  /** The structured result of a tool. Fails if it is an error. */
  call(name: string, input?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** The error with which a tool ended. Fails if it succeeds. */
  refusal(name: string, input?: Record<string, unknown>): Promise<{ code: string; message: string; hint?: string }>;
  close(): Promise<void>;
}

/** Starts `halo mcp` in a home. */
export function connectStdio(home: Pick<HaloHome, 'dir'>, env: Record<string, string> = {}): Promise<McpClient> {
  const command = resolve(import.meta.dirname, '../../bin/halo');
  const own = { PATH: process.env.PATH ?? '', HOME: home.dir, HALO_HOME: home.dir, ...env };
  return connect(new StdioClientTransport({ command, args: ['mcp'], env: own, cwd: home.dir, stderr: 'ignore' }));
}

export function connectHttp(url: string, token: string): Promise<McpClient> {
  const headers = { authorization: `Bearer ${token}` };
  return connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }));
}

async function connect(transport: Parameters<Client['connect']>[0]): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  const call = async (name: string, input: Record<string, unknown> = {}) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: input });
    const [first] = content;
    return { text: first?.type === 'text' ? first.text : '', structuredContent, isError: isError === true };
  };
  return {
    client,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, input) {
      const { text, structuredContent, isError } = await call(name, input);
      if (isError) throw new Error(text);
      return structuredContent as Record<string, unknown>;
    },
    async refusal(name, input) {
      const { text, isError } = await call(name, input);
      if (!isError) throw new Error(`${name} succeeded: ${text}`);
      return (JSON.parse(text) as { error: { code: string; message: string; hint?: string } }).error;
    },
    close: () => client.close(),
  };
}
