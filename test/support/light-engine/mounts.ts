import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, type CreateRequest, type MountRequest } from './api.ts';
import type { Volumes } from './volumes.ts';

/** The mounts of one container. Its volumes exist and are in use from its creation to its removal. */
export interface ContainerMounts {
  /** The arguments of the program. What needs a mount of the host is mounted now. */
  open(): Promise<string[]>;
  /** Removes the volumes without a name, too, if `withAnonymous`. */
  close(withAnonymous: boolean): Promise<void>;
}

/** How an engine completes the options of a file system in memory. */
const TMPFS = 'noexec,nosuid,nodev';

/** Creates missing volumes, and fills empty ones from the image, whose files are in `root`. Throws 400. */
export function createMounts(
  { volumes, root, id }: { volumes: Volumes; root: string; id: string },
  { HostConfig: { Tmpfs = {}, Mounts } = {} }: CreateRequest,
): ContainerMounts {
  assertMountable(Mounts ?? []);
  const held: string[] = [];
  const anonymous: string[] = [];
  const mounted: string[] = [];
  const memory = Object.entries(Tmpfs).map(([to, options]) => ({
    to,
    open: () => Promise.resolve(['--tmpfs', to, [TMPFS, options].filter((words) => words !== '').join(',')]),
  }));
  const others = (Mounts ?? []).map((mount) => ({ to: mount.Target, open: prepare(mount) }));
  /** A folder before those in it. */
  const all = [...memory, ...others].sort((a, b) => depth(a.to) - depth(b.to));

  function prepare({ Type, Source = '', Target, ReadOnly = false, VolumeOptions = {} }: MountRequest) {
    const bind = (from: string) => ['--bind', from, Target, ReadOnly ? 'ro' : 'rw'];
    if (Type !== 'volume') return () => Promise.resolve(bind(Source));
    const { NoCopy, Labels, DriverConfig: { Options: DriverOpts } = {} } = VolumeOptions;
    const { Name, Options } = volumes.create({ Name: Source, Labels, DriverOpts });
    if (Source === '') anonymous.push(Name);
    volumes.hold(Name, id);
    held.push(Name);
    // A file system without content needs no mount of the host.
    if (Options?.type === 'devpts') return () => Promise.resolve(['--devpts', Target, Options.o ?? '']);
    if (NoCopy !== true && Options?.type === undefined) volumes.fill(Name, join(root, Target));
    return async () => {
      const from = await volumes.mount(Name);
      mounted.push(Name);
      return bind(from);
    };
  }

  return {
    open: async () => {
      const words = [];
      for (const { open } of all) words.push(...(await open()));
      return words;
    },
    close: async (withAnonymous) => {
      for (const name of mounted.splice(0)) await volumes.unmount(name);
      for (const name of held.splice(0)) volumes.release(name, id);
      if (!withAnonymous) return;
      for (const name of anonymous.splice(0)) await volumes.remove(name, true).catch(() => undefined);
    },
  };
}

function assertMountable(mounts: MountRequest[]): void {
  for (const { Type, Source = '' } of mounts)
    if (Type === 'bind' && !existsSync(Source))
      throw new ApiError(400, `invalid mount config for type "bind": bind source path does not exist: ${Source}`);
}

function depth(path: string): number {
  return path.split('/').filter((part) => part !== '').length;
}
