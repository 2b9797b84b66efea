import { readFile, chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import type { NetworkPhase } from '../../core/journal/egress-events.ts';
import { shellQuote } from '../../lib/text.ts';
import { AGENT_HOME, type Mount, type Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { GATEWAY_DIR, GATEWAY_SOCKET } from '../workspace/sandbox-paths.ts';
import type { Forward } from '../workspace/step-services.ts';
import type { ChannelKind } from '../worker-context.ts';
import { startGateway, type Gateway, type GatewayOptions } from '../../gateway/gateway.ts';
import { ensurePrivateFolder } from '../../lib/fs.ts';
import { readCaCertificates } from './machine-connections.ts';

/** The mounts that a sandbox needs for its channel. */
export function mountChannel(kind: ChannelKind, channel: Channel | undefined): Mount[] {
  if (channel === undefined || kind === 'stdio') return [];
  return [{ kind: 'bind', source: channel.dir, target: GATEWAY_DIR, readOnly: true }];
}

/** Connects a started sandbox to its gateway, unless the socket is mounted. Throws DOCKER_FAILED. */
export async function attachChannel(
  { worker, identity, resources }: SandboxContext,
  sandbox: Sandbox,
  channel: Channel,
): Promise<void> {
  if (resources.channel === 'socket') return;
  const { log } = worker;
  const listener = await sandbox.listen({
    port: channel.port,
    accept: (connection) => channel.gateway.accept(connection),
    onLoss: (why, then) => {
      log.warn({ attempt: identity.id, why, then }, 'sandbox bridge lost');
      if (then === 'gone')
        channel.reportProblem(`The sandbox lost its connection to the gateway too often; the last time: ${why}.`);
    },
  });
  resources.onClose(() => Promise.resolve(listener.close()));
  if (channel.hasCaFile) await copyCaFile(sandbox, join(channel.dir, 'ca.pem'));
}

/** The port of a channel in its sandbox; a bridge listens there by itself. */
export function forwardsOf(kind: ChannelKind, channel: Channel | undefined): Forward[] {
  return channel === undefined || kind === 'stdio' ? [] : [{ port: channel.port, socket: GATEWAY_SOCKET }];
}

/** Wraps a command so that ports of the loopback interface lead to sockets. */
export function wrapWithForwarder(forwards: readonly Forward[], command: string): string {
  if (forwards.length === 0) return command;
  const pairs = forwards.map(({ port, socket }) => `${port} ${socket}`).join(' ');
  return `exec /opt/halo/bin/forward ${pairs} -- /bin/sh -c ${shellQuote(command)}`;
}

/** The path of the channel's CA file inside the sandbox. */
export function caFileInSandbox(channel: ChannelKind): string {
  return channel === 'socket' ? `${GATEWAY_DIR}/ca.pem` : `${AGENT_HOME}/.halo-ca.pem`;
}

/** A script may have 128 KiB, and each quoted quote mark takes four bytes. */
const CHUNK_LENGTH = 30_000;

/** Writes the CA file in chunks, for sandboxes without mounts. */
async function copyCaFile(sandbox: Sandbox, file: string): Promise<void> {
  const text = (await readFile(file, 'latin1')).replaceAll(/[^\x20-\x7e\n]/g, '?');
  for (let at = 0; at < text.length; at += CHUNK_LENGTH) {
    const piece = shellQuote(text.slice(at, at + CHUNK_LENGTH));
    await sandbox.prepare(`printf %s ${piece} >> ${caFileInSandbox('stdio')}`);
  }
}

/** Appends to the journal what a sandbox requested through its gateway. Call it after the channel has closed. */
export async function recordNetwork(
  { journal }: SandboxContext,
  phase: NetworkPhase,
  { gateway }: Channel,
): Promise<void> {
  const rows = gateway.traffic();
  if (rows.length > 0) await journal.report(...rows.map((row) => ({ type: 'network.asked' as const, phase, ...row })));
}

/** The only network access of a sandbox: a folder with the gateway's socket, mounted read-only. */
export interface Channel {
  dir: string;
  /** The port on the sandbox's loopback interface. */
  port: number;
  gateway: Gateway;
  /** Whether `ca.pem` is in `dir`. */
  hasCaFile: boolean;
  /** Distinct reasons for which the gateway refused requests, as sentences. */
  refusals: ReadonlySet<string>;
  /** Records why the sandbox no longer gets responses. */
  reportProblem(sentence: string): void;
  close(): Promise<void>;
}

export interface ChannelOptions extends Omit<GatewayOptions, 'socketPath' | 'onRefused'> {
  port: number;
  /** A PEM file of certificate authorities that the sandbox finds next to the socket as `ca.pem`. */
  caFile?: string;
  /** More certificates for this file, as PEM. */
  certificates?: string;
}

/** The attempt that a channel belongs to; it is part of the folder's name, so that a sweep can find orphans. */
export interface ChannelOwner {
  home: string;
  runId: string;
  epoch: number;
}

/**
 * Opens a gateway for one sandbox. The sandbox's user can enter but not list its folder; the parent folder keeps all
 * other users of the machine out.
 */
export async function openChannel(
  owner: ChannelOwner,
  { port, caFile, certificates = '', ...options }: ChannelOptions,
): Promise<Channel> {
  const name = `${owner.runId}-e${owner.epoch}-${randomBytes(3).toString('hex')}`;
  const sockets = join(owner.home, 'sockets');
  const dir = join(sockets, name);
  await ensurePrivateFolder(sockets);
  await mkdir(dir, { mode: 0o711 });
  const trusted = `${caFile === undefined ? '' : await readCaCertificates(caFile)}${certificates}`;
  if (trusted !== '') await writeCaFile(trusted, join(dir, 'ca.pem'));
  const refusals = new Set<string>();
  const onRefused = (_target: string, reason: string) => refusals.add(reason);
  const gateway = await startGateway({ ...options, onRefused, socketPath: join(dir, 'gateway.sock') });
  return {
    dir,
    port,
    gateway,
    hasCaFile: trusted !== '',
    refusals,
    reportProblem: (sentence) => {
      refusals.add(sentence);
      gateway.reportProblem(sentence);
    },
    close: async () => {
      await gateway.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function writeCaFile(text: string, path: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o644);
}
