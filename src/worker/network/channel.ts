import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startGateway, type Gateway, type GatewayOptions } from '../../gateway/gateway.ts';
import { ensurePrivateFolder } from '../../lib/fs.ts';
import { readCaCertificates } from './ca-certificates.ts';

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
  /** Records why the sandbox no longer gets answers. */
  reportProblem(sentence: string): void;
  close(): Promise<void>;
}

export interface ChannelOptions extends Omit<GatewayOptions, 'socketPath' | 'onRefused'> {
  port: number;
  /** A PEM file of certificate authorities that the sandbox finds next to the socket as `ca.pem`. */
  caFile?: string;
}

/** The attempt that a channel belongs to; it is part of the folder's name, so that a sweep can find orphans. */
export interface ChannelPlace {
  home: string;
  runId: string;
  epoch: number;
}

/**
 * Opens a gateway for one sandbox. The sandbox's user can enter but not list its folder; the parent folder keeps all
 * other users of the machine out.
 */
export async function openChannel(place: ChannelPlace, { port, caFile, ...options }: ChannelOptions): Promise<Channel> {
  const name = `${place.runId}-e${place.epoch}-${randomBytes(3).toString('hex')}`;
  const sockets = join(place.home, 'sockets');
  const dir = join(sockets, name);
  await ensurePrivateFolder(sockets);
  await mkdir(dir, { mode: 0o711 });
  if (caFile !== undefined) await writeCaFile(await readCaCertificates(caFile), join(dir, 'ca.pem'));
  const refusals = new Set<string>();
  const onRefused = (_target: string, reason: string) => refusals.add(reason);
  const gateway = await startGateway({ ...options, onRefused, socketPath: join(dir, 'gateway.sock') });
  return {
    dir,
    port,
    gateway,
    hasCaFile: caFile !== undefined,
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
