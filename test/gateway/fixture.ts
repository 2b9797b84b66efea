import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { startGateway, type Gateway, type GatewayOptions } from '../../src/gateway/gateway.ts';
import { startModelServer, type ModelServer, type Turn } from '../support/model/model-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const pem = (name: string) => readFileSync(new URL(`fixtures/localhost-${name}.pem`, import.meta.url));

/** An untrusted certificate for `localhost`, with its key. */
export const localhost = { key: pem('key'), cert: pem('cert') };

/** A route to a provider that speaks OpenAI’s APIs, and may be asked for these models. */
/** What the model routes of these tests take for a key; their client sends it unless a test sets another one. */
export const TOKEN = 'halo-test-token';
export const OPENAI = { api: 'openai', gatewayToken: TOKEN, models: ['m', 'other', 'gpt-5.5', 'house-model'] } as const;
export const ANTHROPIC = { api: 'anthropic', gatewayToken: TOKEN, models: ['m', 'claude-test'] } as const;
export const GOOGLE = { api: 'google', gatewayToken: TOKEN, models: ['m'] } as const;

/** A gateway that is closed after the test, with its socket in a folder of its own. */
export async function gateway(options: Omit<GatewayOptions, 'socketPath'>): Promise<Gateway & { socket: string }> {
  const socket = join(tempDir('halo-gw'), 'gateway.sock');
  const started = await startGateway({ ...options, socketPath: socket });
  onTestFinished(() => started.close());
  return Object.assign(started, { socket });
}

export async function modelServer(turns: Turn[]): Promise<ModelServer> {
  const server = await startModelServer({ turns });
  onTestFinished(() => server.close());
  return server;
}

/** An HTTP server on loopback; gives `127.0.0.1:port`. */
export async function httpServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  return listening(server, () => server.closeAllConnections());
}

/** Listens on a free port of loopback and closes after the test. */
export async function listening(server: NetServer, beforeClose: () => void = () => {}): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        beforeClose();
      }),
  );
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
