import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ApiError } from './api.ts';

const execute = promisify(execFile);

/** A folder of the engine, or a mount of its own kind. */
export interface Volume {
  Name: string;
  Driver: 'local';
  Mountpoint: string;
  CreatedAt: string;
  Labels: Record<string, string> | null;
  Options: Record<string, string> | null;
  Scope: 'local';
}

export interface NewVolume {
  Name?: string | undefined;
  Labels?: Record<string, string> | undefined;
  DriverOpts?: Record<string, string> | undefined;
}

/** The volumes of an engine, in `dir`. */
export class Volumes {
  private readonly dir: string;
  private readonly volumes = new Map<string, Volume>();
  /** The ids of the containers that have a volume, also of those that do not run. */
  private readonly holders = new Map<string, Set<string>>();
  /** The volumes with a file system of their own, as long as containers use it. */
  private readonly mounts = new Map<string, { users: number; ready: Promise<unknown> }>();
  /** The volumes that show files of an image. */
  private readonly filled = new Map<string, string>();
  private removed = 0;

  constructor(dir: string) {
    this.dir = dir;
    mkdirSync(dir, { recursive: true });
  }

  /** Returns the existing volume of this name, as an engine does. */
  create({ Name, Labels, DriverOpts }: NewVolume): Volume {
    const name = Name || crypto.randomUUID().replaceAll('-', '').repeat(2);
    const known = this.volumes.get(name);
    if (known !== undefined) return known;
    if (!/^[a-zA-Z0-9][\w.-]+$/.test(name)) throw new ApiError(400, `create ${name}: invalid volume name`);
    if (DriverOpts?.size !== undefined && DriverOpts.type === undefined)
      throw new ApiError(500, `create ${name}: quota size requested but no quota support`);
    const Mountpoint = join(this.dir, name, '_data');
    mkdirSync(Mountpoint, { recursive: true });
    const volume: Volume = {
      Name: name,
      Driver: 'local',
      Mountpoint,
      CreatedAt: new Date().toISOString(),
      Labels: Labels ?? null,
      Options: Object.keys(DriverOpts ?? {}).length > 0 ? DriverOpts! : null,
      Scope: 'local',
    };
    this.volumes.set(name, volume);
    return volume;
  }

  get(name: string): Volume {
    const volume = this.volumes.get(name);
    if (volume === undefined) throw new ApiError(404, `get ${name}: no such volume`);
    return volume;
  }

  list(): Volume[] {
    return [...this.volumes.values()];
  }

  /** Keeps a volume from being removed as long as a container has it. */
  hold(name: string, container: string): void {
    this.holders.set(name, (this.holders.get(name) ?? new Set()).add(container));
  }

  release(name: string, container: string): void {
    this.holders.get(name)?.delete(container);
  }

  async remove(name: string, force: boolean): Promise<void> {
    if (force && !this.volumes.has(name)) return;
    this.get(name);
    const holders = [...(this.holders.get(name) ?? [])];
    if (holders.length > 0) throw new ApiError(409, `remove ${name}: volume is in use - [${holders.join(', ')}]`);
    this.volumes.delete(name);
    this.holders.delete(name);
    this.unfill(name);
    const trash = join(this.dir, `.removed-${this.removed++}`);
    await rename(join(this.dir, name), trash);
    await rm(trash, { recursive: true, force: true });
  }

  /** A folder to mount into a container. The first of them mounts a volume with a file system of its own. */
  async mount(name: string): Promise<string> {
    const { Mountpoint, Options } = this.get(name);
    if (Options?.type === undefined) return Mountpoint;
    const { type, device = type, o = '' } = Options;
    const mount = () => execute('mount', ['-t', type, device, Mountpoint, ...(o === '' ? [] : ['-o', o])]);
    const entry = this.mounts.get(name) ?? { users: 0, ready: Promise.resolve() };
    this.mounts.set(name, entry);
    if (entry.users++ === 0) entry.ready = entry.ready.then(mount);
    await entry.ready.catch((error: Error) => {
      if (this.mounts.get(name) === entry) this.mounts.delete(name);
      throw new ApiError(500, `error while mounting volume '${Mountpoint}': ${error.message}`);
    });
    return Mountpoint;
  }

  async unmount(name: string): Promise<void> {
    const entry = this.mounts.get(name);
    if (entry === undefined || --entry.users > 0) return;
    const { Mountpoint } = this.get(name);
    entry.ready = entry.ready.then(() => execute('umount', ['--lazy', Mountpoint]));
    await entry.ready;
  }

  /** Gives an empty volume the content and the rights of a folder of an image, if there is one. */
  fill(name: string, folder: string): void {
    const { Mountpoint } = this.get(name);
    const from = statSync(folder, { throwIfNoEntry: false });
    if (from === undefined || !from.isDirectory() || readdirSync(Mountpoint).length > 0) return;
    const isEmpty = readdirSync(folder).length === 0;
    const [upper, work] = [join(this.dir, name, 'upper'), join(this.dir, name, 'work')];
    if (!isEmpty) for (const dir of [upper, work]) mkdirSync(dir);
    const top = isEmpty ? Mountpoint : upper;
    chownSync(top, from.uid, from.gid);
    chmodSync(top, from.mode & 0o7777);
    if (isEmpty) return;
    // Not a copy, which can have a gigabyte.
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=${folder},upperdir=${upper},workdir=${work}`, Mountpoint]); // prettier-ignore
    this.filled.set(name, Mountpoint);
  }

  close(): void {
    for (const name of this.filled.keys()) this.unfill(name);
  }

  private unfill(name: string): void {
    const mounted = this.filled.get(name);
    if (mounted !== undefined) execFileSync('umount', ['--lazy', mounted]);
    this.filled.delete(name);
  }
}
