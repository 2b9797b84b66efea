import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shellQuote } from '../lib/shell-quote.ts';
import type { Mount, Sandbox } from '../sandbox/sandbox.ts';
import type { Attempt } from './attempt-context.ts';
import type { Channel } from './network/channel.ts';
import { AGENT_HOME, GATEWAY_DIR, GATEWAY_SOCKET } from './workspace/sandbox-paths.ts';
import type { ChannelKind } from './worker-context.ts';

/** What a sandbox is given at birth for its way out. */
export function mountChannel(attempt: Attempt, channel: Channel | undefined): Mount[] {
  if (channel === undefined || attempt.channel === 'stdio') return [];
  return [{ kind: 'bind', source: channel.dir, target: GATEWAY_DIR, readOnly: true }];
}

/** Opens the way of a started sandbox to its gateway, as far as mounting did not. Throws DOCKER_FAILED. */
export async function carryChannel(attempt: Attempt, sandbox: Sandbox, channel: Channel): Promise<void> {
  if (attempt.channel === 'socket') return;
  const { log } = attempt.worker;
  const listener = await sandbox.listen({
    port: channel.port,
    accept: (connection) => channel.gateway.accept(connection),
    onLoss: (why, then) => {
      log.warn({ attempt: attempt.id, why, then }, 'the bridge of a sandbox was lost');
      if (then === 'gone')
        channel.reportProblem(`The sandbox lost its way to the gateway too often; the last time: ${why}.`);
    },
  });
  attempt.atClose(() => Promise.resolve(listener.close()));
  if (channel.hasAuthorities) await copyAuthorities(sandbox, join(channel.dir, 'ca.pem'));
}

/** The command of a sandbox, for which its gateway is at `port`. */
export function throughChannel(attempt: Attempt, port: number, command: string): string {
  if (attempt.channel === 'stdio') return command;
  return `exec /opt/halo/bin/forward ${port} ${GATEWAY_SOCKET} -- /bin/sh -c ${shellQuote(command)}`;
}

/** Where a sandbox finds the certificate authorities of its channel. */
export function authoritiesIn(channel: ChannelKind): string {
  return channel === 'socket' ? `${GATEWAY_DIR}/ca.pem` : `${AGENT_HOME}/.halo-ca.pem`;
}

/** A script has at most 128 KiB, in which every quote mark takes four bytes. */
const PIECE = 30_000;

/** Where nothing can be mounted, the certificate authorities are written piece by piece. */
async function copyAuthorities(sandbox: Sandbox, file: string): Promise<void> {
  const text = (await readFile(file, 'latin1')).replaceAll(/[^\x20-\x7e\n]/g, '?');
  for (let at = 0; at < text.length; at += PIECE) {
    const piece = shellQuote(text.slice(at, at + PIECE));
    await sandbox.prepare(`printf %s ${piece} >> ${authoritiesIn('stdio')}`);
  }
}
