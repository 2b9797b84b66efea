import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Caller } from '../api/access/authenticate.ts';
import type { McpEndpoint } from '../api/http/mcp-route.ts';
import { buildMcpServer } from './mcp-server.ts';
import type { ToolOperations } from './tool.ts';
import type { ToolRunner } from './tool-runner.ts';

/** Open streams of a user for changes of the list of tools: it never changes, so a client gains nothing from one. */
const MAX_SUBSCRIPTIONS = 16;

export interface McpHttpOptions {
  runner: ToolRunner;
  /** The operations of a caller of the server, who may decide or not. */
  operationsFor: (caller: Caller, decide: boolean) => ToolOperations;
  /** Asked for each request, so that a change of the configuration needs no restart. */
  decides: () => Promise<boolean>;
}

/** Answers requests to `/mcp`. There are no sessions: each request has a server of its own. */
export function openMcpEndpoint({ runner, operationsFor, decides }: McpHttpOptions): McpEndpoint {
  const openHandler = () => {
    const calls = { running: 0 };
    return createMcpHandler(
      async ({ authInfo }) => {
        const { caller } = authInfo?.extra as { caller: Caller };
        const decide = await decides();
        return buildMcpServer({ runner: runner.actingFor(operationsFor(caller, decide), calls), decide });
      },
      { maxSubscriptions: MAX_SUBSCRIPTIONS },
    );
  };
  /** By user, so that none uses up the calls and streams of another one; '': the owner. */
  const handlers = new Map<string, ReturnType<typeof openHandler>>();
  return {
    handle(request, parsedBody, caller) {
      const user = caller.kind === 'owner' ? '' : caller.user.name;
      const handler = handlers.get(user) ?? openHandler();
      handlers.set(user, handler);
      // The token stays in the HTTP server.
      return handler.fetch(request, {
        parsedBody,
        authInfo: { token: '', clientId: '', scopes: [], extra: { caller } },
      });
    },
    close: async () => {
      await Promise.all([...handlers.values()].map((handler) => handler.close()));
    },
  };
}
