import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { finished } from 'node:stream/promises';
import type { Readable, Writable } from 'node:stream';
import { buildMcpServer, type McpServerOptions } from './mcp-server.ts';

/** Larger than any PRD that a tool accepts, in JSON. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

export interface StdioStreams {
  input: Readable;
  output: Writable;
  /** Resolves when the process must end. */
  stopped: Promise<void>;
}

/** Serves MCP over a pair of streams until the client closes its end. Nothing else may write to the output. */
export async function serveMcpStdio(
  options: McpServerOptions,
  { input, output, stopped }: StdioStreams,
): Promise<void> {
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES });
  const handle = serveStdio(() => buildMcpServer(options), { transport, maxSubscriptions: 1 });
  try {
    await Promise.race([stopped, finished(input, { writable: false }).catch(() => undefined)]);
  } finally {
    await handle.close();
    // A reader of stdin would keep the process alive.
    input.destroy();
  }
}
