import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Duplex, Readable } from 'node:stream';
import { ApiError, type CreateRequest } from './api.ts';
import { createControlGroups, type ControlGroups } from './cgroup.ts';
import type { Image } from './images.ts';
import { createMounts, type ContainerMounts } from './mounts.ts';
import { connectStreams } from './streams.ts';
import type { Volumes } from './volumes.ts';

/** What starts a container: the program of sandbox.c, and where the rest of the engine is. */
export interface Machinery {
  program: string;
  /** A folder for the files of containers. */
  dir: string;
  volumes: Volumes;
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const HOSTS = '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n';

/** A container from its creation to its removal. */
export class Container {
  readonly id = randomBytes(32).toString('hex');
  readonly name: string;
  readonly request: CreateRequest;
  readonly created = new Date();
  readonly image: Image;
  status: 'created' | 'running' | 'exited' = 'created';
  exitCode = 0;
  outOfMemory = false;
  /** Of its init, on the host. */
  pid = 0;
  startedAt = '0001-01-01T00:00:00Z';
  finishedAt = '0001-01-01T00:00:00Z';
  private readonly machinery: Machinery;
  private readonly mounts: ContainerMounts;
  private process: ChildProcess | undefined;
  private groups: ControlGroups | undefined;
  private attached: Duplex | undefined;
  private starting: Promise<void> | undefined;
  private removing: Promise<void> | undefined;
  private end!: () => void;
  /** Resolves at its exit. */
  readonly exited = new Promise<void>((resolve) => (this.end = resolve));

  /** Throws 400 for a mount that is not possible. */
  constructor(machinery: Machinery, name: string, request: CreateRequest, image: Image) {
    this.machinery = machinery;
    this.name = name || `container-${this.id.slice(0, 12)}`;
    this.request = request;
    this.image = image;
    this.mounts = createMounts({ volumes: machinery.volumes, root: image.root, id: this.id }, request);
  }

  get labels(): Record<string, string> {
    return this.request.Labels ?? {};
  }

  /** What is mounted where; without the anonymous volumes. */
  get places(): { Name?: string; Source: string; Destination: string }[] {
    return (this.request.HostConfig?.Mounts ?? []).map(({ Type, Source = '', Target }) => ({
      ...(Type === 'volume' && Source !== '' ? { Name: Source } : {}),
      Source: Type === 'bind' ? Source : '',
      Destination: Target,
    }));
  }

  /** Streams what the container reads and prints; what it prints without a reader is lost. */
  attach(stream: Duplex): void {
    this.attached = stream;
    this.connect();
  }

  start(): Promise<void> {
    if (this.removing !== undefined) throw new ApiError(409, 'container is marked for removal and cannot be started');
    return (this.starting ??= this.startOnce());
  }

  private async startOnce(): Promise<void> {
    const words = await this.describe();
    const running = spawn(this.machinery.program, words, { stdio: ['pipe', 'pipe', 'pipe', 'pipe'], env: {} });
    const report = await text(running.stdio[3] as Readable);
    const pid = /^pid (\d+)$/m.exec(report)?.[1];
    const wrong = /^error (.*)$/m.exec(report)?.[1];
    if (wrong !== undefined || pid === undefined)
      throw new ApiError(500, `failed to create a container: ${wrong ?? 'its program ended'}`);
    this.process = running;
    this.pid = Number(pid);
    this.status = 'running';
    this.startedAt = new Date().toISOString();
    running.once('exit', (code) => {
      this.status = 'exited';
      this.exitCode = code ?? 137;
      this.outOfMemory = this.groups?.wasOutOfMemory() ?? false;
      this.finishedAt = new Date().toISOString();
      this.end();
    });
    this.connect();
  }

  kill(signal: NodeJS.Signals | number): void {
    if (this.status !== 'running') throw new ApiError(409, `Container ${this.id} is not running`);
    try {
      process.kill(this.pid, signal);
    } catch {
      // It ends by itself.
    }
  }

  /** Resolves when nothing of it is left. */
  async remove({ force, withVolumes }: { force: boolean; withVolumes: boolean }): Promise<void> {
    if (this.status === 'running' && !force)
      throw new ApiError(409, `You cannot remove a running container ${this.id}. Stop the container before attempting removal or force remove`); // prettier-ignore
    if (this.removing !== undefined) throw new ApiError(409, `removal of container ${this.id} is already in progress`);
    this.removing = this.removeOnce(withVolumes);
    await this.removing;
  }

  private async removeOnce(withVolumes: boolean): Promise<void> {
    await this.starting?.catch(() => undefined);
    if (this.status === 'running') {
      this.kill('SIGKILL');
      await this.exited;
    }
    await this.groups?.remove();
    await this.mounts.close(withVolumes);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Executes a further command in it, and streams it. */
  execute(command: string[], stream: Duplex): Promise<number> {
    if (this.status !== 'running') throw new ApiError(409, `Container ${this.id} is not running`);
    const [user, group] = this.ids;
    const words = ['enter', ...this.groupWords, String(this.pid), user, group, '--', ...command];
    const env = Object.fromEntries(this.env.map((entry) => [nameOf(entry), entry.slice(nameOf(entry).length + 1)]));
    const running = spawn(this.machinery.program, words, { stdio: ['pipe', 'pipe', 'pipe'], env });
    connectStreams(stream, running);
    return once(running, 'exit').then(([code]) => (code as number | null) ?? 137);
  }

  private get folder(): string {
    return join(this.machinery.dir, this.id);
  }

  private get hostName(): string {
    return this.id.slice(0, 12);
  }

  private get groupWords(): string[] {
    return this.groups?.dirs.flatMap(({ dir }) => ['--cgroup', dir]) ?? [];
  }

  /** User id, and a supplementary group or 0. */
  private get ids(): [user: string, group: string] {
    const { User = '', HostConfig = {} } = this.request;
    return [User.split(':')[0] || '0', HostConfig.GroupAdd?.[0] ?? '0'];
  }

  /** The last of several values of a variable counts. */
  private get env(): string[] {
    const entries = [PATH, `HOSTNAME=${this.hostName}`, ...(this.image.config.Env ?? []), ...(this.request.Env ?? [])];
    return [...new Map(entries.map((entry) => [nameOf(entry), entry])).values()];
  }

  private get command(): string[] {
    const { config } = this.image;
    const { Entrypoint, Cmd } = this.request;
    const isReplaced = (Entrypoint ?? []).length > 0;
    const words = isReplaced || (Cmd ?? []).length > 0 ? Cmd : config.Cmd;
    return [...((isReplaced ? Entrypoint : config.Entrypoint) ?? []), ...(words ?? [])];
  }

  private connect(): void {
    if (this.attached === undefined || this.process === undefined) return;
    connectStreams(this.attached, this.process);
  }

  /** The arguments of the program: the whole description of the container. */
  private async describe(): Promise<string[]> {
    const { WorkingDir, NetworkDisabled, HostConfig = {} } = this.request;
    this.groups = createControlGroups(this.id, HostConfig);
    const [user, group] = this.ids;
    const limits = (HostConfig.Ulimits ?? []).flatMap(({ Name, Hard }) =>
      Name === 'nofile' || Name === 'fsize' ? [`--${Name}`, String(Hard)] : [],
    );
    return [
      'run',
      ...this.groupWords,
      ...['--root', this.image.layers, this.folder, '--host', this.hostName],
      ...['--tmpfs', '/sys/fs/cgroup', 'nosuid,nodev,noexec,mode=755'],
      ...this.groups.dirs.flatMap(({ dir, inside }) => ['--bind', dir, inside, 'ro']),
      ...['--tmpfs', '/dev/shm', `nosuid,nodev,noexec,mode=1777,size=${HostConfig.ShmSize ?? 67_108_864}`],
      ...this.writeFiles(
        NetworkDisabled === true ? {} : { hosts: `${HOSTS}${extraHosts(HostConfig.ExtraHosts ?? [])}` },
      ),
      ...(await this.mounts.open()),
      ...limits,
      ...(HostConfig.ReadonlyRootfs === true ? ['--sealed'] : []),
      ...['--user', user, '--group', group, '--cwd', WorkingDir || this.image.config.WorkingDir || '/'],
      ...this.env.flatMap((entry) => ['--env', entry]),
      '--',
      ...this.command,
    ];
  }

  /** The layer of the container, and files of /etc that an engine writes. */
  private writeFiles(others: Record<string, string>): string[] {
    const mode = this.request.HostConfig?.ReadonlyRootfs === true ? 'ro' : 'rw';
    for (const folder of ['root', 'upper', 'work']) mkdirSync(join(this.folder, folder), { recursive: true });
    return Object.entries({ hostname: `${this.hostName}\n`, ...others }).flatMap(([name, content]) => {
      const path = join(this.folder, name);
      writeFileSync(path, content);
      return ['--bind', path, `/etc/${name}`, mode];
    });
  }
}

/** Lines for NAME:ADDRESS. */
function extraHosts(entries: readonly string[]): string {
  return entries.map((entry) => `${entry.replace(/^([^:]*):(.*)$/, '$2\t$1')}\n`).join('');
}

/** Of a variable, in NAME=VALUE. */
function nameOf(entry: string): string {
  return entry.slice(0, entry.indexOf('='));
}
