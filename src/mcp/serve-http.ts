import { createMcpHandler } from '@modelcontextprotocol/server';
import type { McpEndpoint } from '../api/http/mcp-route.ts';
import { buildMcpServer } from './mcp-server.ts';
import type { ToolRunner } from './tool-runner.ts';

/** Open streams for changes of the list of tools: it never changes, so a client gains nothing from one. */
const MAX_SUBSCRIPTIONS = 16;

export interface McpHttpOptions {
  runner: ToolRunner;
  /** Asked for each request, so that a change of the configuration needs no restart. */
  decides: () => Promise<boolean>;
}

/** Answers requests to `/mcp`. There are no sessions: each request has a server of its own. */
export function openMcpEndpoint({ runner, decides }: McpHttpOptions): McpEndpoint {
  const handler = createMcpHandler(async () => buildMcpServer({ runner, decide: await decides() }), {
    maxSubscriptions: MAX_SUBSCRIPTIONS,
  });
  return {
    handle: (request, parsedBody) => handler.fetch(request, { parsedBody }),
    close: () => handler.close(),
  };
}
