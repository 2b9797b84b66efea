import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startGateway, type Gateway, type GatewayOptions } from '../../gateway/gateway.ts';
import { makePrivateFolder } from '../../lib/private-folder.ts';
import { readAuthorities } from '../authorities.ts';

/** A sandbox's only way out: a folder with the gateway's socket in it, mounted read-only. */
export interface Channel {
  dir: string;
  /** On the loopback interface of the sandbox. */
  port: number;
  gateway: Gateway;
  /** Whether `ca.pem` is in `dir`. */
  hasAuthorities: boolean;
  /** What the gateway refused, in sentences for people; each once. */
  refusals: ReadonlySet<string>;
  /** Takes down why the sandbox gets no answers any more. */
  reportProblem(sentence: string): void;
  close(): Promise<void>;
}

export interface ChannelOptions extends Omit<GatewayOptions, 'socketPath' | 'onRefused'> {
  port: number;
  /** PEM file of certificate authorities that the sandbox finds beside the socket as `ca.pem`. */
  caFile?: string;
}

/** Whose channel it is; its folder is named so that a sweep knows it. */
export interface ChannelPlace {
  home: string;
  runId: string;
  epoch: number;
}

/**
 * Opens a gateway of its own for one sandbox. Its folder can be passed through, but not listed, by the sandbox's user;
 * the folder above it keeps all other users of the machine out.
 */
export async function openChannel(place: ChannelPlace, { port, caFile, ...options }: ChannelOptions): Promise<Channel> {
  const name = `${place.runId}-e${place.epoch}-${randomBytes(3).toString('hex')}`;
  const sockets = join(place.home, 'sockets');
  const dir = join(sockets, name);
  await makePrivateFolder(sockets);
  await mkdir(dir, { mode: 0o711 });
  if (caFile !== undefined) await putAuthorities(await readAuthorities(caFile), join(dir, 'ca.pem'));
  const refusals = new Set<string>();
  const onRefused = (_target: string, reason: string) => refusals.add(reason);
  const gateway = await startGateway({ ...options, onRefused, socketPath: join(dir, 'gateway.sock') });
  return {
    dir,
    port,
    gateway,
    hasAuthorities: caFile !== undefined,
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

async function putAuthorities(text: string, path: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o644);
}
