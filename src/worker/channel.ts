import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startGateway, type Gateway, type GatewayOptions } from '../gateway/gateway.ts';

/** A sandbox's only way out: a folder with the gateway's socket in it, mounted read-only. */
export interface Channel {
  dir: string;
  gateway: Gateway;
  close(): Promise<void>;
}

/** Opens a gateway of its own for one sandbox. The folder may be passed through, but not listed, by others. */
export async function openChannel(home: string, options: Omit<GatewayOptions, 'socketPath'>): Promise<Channel> {
  const dir = join(home, 'sockets', randomBytes(5).toString('hex'));
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const gateway = await startGateway({ ...options, socketPath: join(dir, 'gateway.sock') });
  return {
    dir,
    gateway,
    close: async () => {
      await gateway.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
