import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { once } from 'node:events';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import {
  createAuthority,
  createKey,
  signCertificate,
  type Identity,
} from '../../../src/lib/network/certificate-authority.ts';
import { copyImage } from './copy-image.ts';

/**
 * A machine with nothing but a Docker Engine, as far as halo can see: processes, network, mounts and host name of its own,
 * and none of the folders in which tests keep HALO_HOME and repositories.
 */
export interface Machine {
  name: string;
  /** `tcp://…:2376`, with mutual TLS. */
  address: string;
  /** The address of the host, as the machine sees it. */
  hostAddress: string;
  /** The folder of `ca.pem`, `cert.pem` and `key.pem` of a client, as DOCKER_CERT_PATH has it. */
  certificates: string;
  /** For a process of halo whose engine is this one. */
  env: { DOCKER_HOST: string; DOCKER_TLS_VERIFY: string; DOCKER_CERT_PATH: string };
  /** The engine's Unix socket, as the host sees it, and a client of it: what the engine has, whatever its certificates. */
  socket: string;
  docker: Docker;
  /** `/etc/docker` of the machine, as the host sees it. */
  etc: string;
  /** The folder with the engine's data, as the host sees it: the place of its disk if that has a size of its own. */
  data: string;
  /** Runs a shell script on the machine as root, and returns stdout. Rejects unless it exits with 0. */
  run(script: string): Promise<string>;
  /** Starts the machine, if it is off, and its engine. Resolves when the engine answers. */
  start(): Promise<void>;
  /** Ends the engine; what becomes of its containers is for the engine to say. */
  stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Ends every process of the machine, as a power cut does. */
  powerOff(): Promise<void>;
  /** Removes everything of it. */
  close(): Promise<void>;
}

export interface Machines<Name extends string> {
  machines: Record<Name, Machine>;
  close(): Promise<void>;
}

/** Why this machine cannot have others. */
export interface NoMachines {
  missing: string;
}

export interface MachineOptions {
  /** Whether the sandbox image is in the engine; default: true. */
  image?: boolean;
  /** Whether the engine listens with TLS, with a certificate of the tests; default: true. Without: only at its socket. */
  tls?: boolean;
  /** The sizes of disks for the data of engines, by the names of their machines; default: that of the host. */
  diskBytes?: Readonly<Record<string, number>>;
  /** Further settings of daemon.json. */
  config?: Record<string, unknown>;
}

const IMAGE = 'halo-sandbox';
const FIRST_PROCESS = resolve(import.meta.dirname, 'machine.sh');
const PROGRAMS = ['dockerd', 'containerd', 'docker', 'unshare', 'nsenter', 'ip', 'mount'];
const REPOSITORY = resolve(import.meta.dirname, '../../..');
const HIDDEN = [tmpdir(), '/tmp', '/var/tmp', '/dev/shm', homedir(), '/root', '/home', '/srv', '/work', REPOSITORY];
/** In a network of its own, an engine may not need any rules or bridges. */
const ENGINE = ['--bridge', 'none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false'];
const DAY_MS = 86_400_000;
const ANSWER_MS = 60_000;
const execute = promisify(execFile);

/** Opens machines with these names, whose engines know one authority. It takes root, as do all engines of tests. */
export async function openMachines<Name extends string>(
  names: readonly Name[],
  options: MachineOptions = {},
): Promise<Machines<Name> | NoMachines> {
  const missing = findMissing();
  if (missing !== undefined) return { missing };
  sweep();
  const authority = createAuthority('halo test engines', DAY_MS);
  const opened = await Promise.allSettled(names.map((name) => openMachine(name, authority, options)));
  const machines = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const close = async () => void (await Promise.all(machines.map((machine) => machine.close())));
  const failed = opened.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  const byName = Object.fromEntries(machines.map((machine) => [machine.name, machine])) as Record<Name, Machine>;
  return { machines: byName, close };
}

function findMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  const places = ['/usr/sbin', '/sbin', ...(process.env.PATH ?? '').split(':')];
  const absent = PROGRAMS.filter((name) => !places.some((place) => existsSync(join(place, name))));
  return absent.length === 0 ? undefined : `needs ${absent.join(', ')}`;
}

async function openMachine(name: string, authority: Identity, options: MachineOptions): Promise<Machine> {
  const dir = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  for (const folder of ['data', 'run', 'etc', 'client']) mkdirSync(join(dir, folder), { mode: 0o700 });
  const diskBytes = options.diskBytes?.[name];
  if (diskBytes !== undefined)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', join(dir, 'data')]);
  const machine = describeMachine(name, dir);
  try {
    if (options.image !== false) copyData(await loadedData(), join(dir, 'data'));
    const config = { ...options.config, ...(options.tls !== false && addCertificates(dir, machine, authority)) };
    if (Object.keys(config).length > 0) writeFileSync(join(dir, 'etc/daemon.json'), JSON.stringify(config));
    await machine.start();
    return machine;
  } catch (error) {
    await machine.close();
    throw error;
  }
}

/** Writes the files of both sides, and returns the settings of the engine. */
function addCertificates(dir: string, { name, address }: Machine, authority: Identity): Record<string, unknown> {
  const ip = new URL(address).hostname;
  const issue = (use: 'server' | 'client', names: [string, ...string[]], folder: string) => {
    const { publicKey, key } = createKey();
    const cert = signCertificate(authority, { publicKey, use, names, validMs: DAY_MS });
    for (const [file, text] of Object.entries({ 'ca.pem': authority.cert, 'cert.pem': cert, 'key.pem': key }))
      writeFileSync(join(dir, folder, file), text, { mode: 0o600 });
  };
  // Proxies of tests are on loopback.
  issue('server', [name, ip, '127.0.0.1', 'localhost'], 'etc');
  issue('client', ['halo'], 'client');
  return {
    hosts: ['unix:///run/docker.sock', 'tcp://0.0.0.0:2376'],
    tlsverify: true,
    tlscacert: '/etc/docker/ca.pem',
    tlscert: '/etc/docker/cert.pem',
    tlskey: '/etc/docker/key.pem',
  };
}

function describeMachine(name: string, dir: string): Machine {
  const { link, hostAddress, ip } = freeNetwork();
  const socket = join(dir, 'run/docker.sock');
  const docker = new Docker({ socketPath: socket });
  const group = `halo-machine-${process.pid}-${link}`;
  let first: { process: ChildProcess; pid: number } | undefined;
  let engine: ChildProcess | undefined;
  const enter = () => ['--target', String(first?.pid), '--mount', '--uts', '--ipc', '--net', '--pid'];
  const powerOn = async () => {
    const spaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const child = spawn('unshare', [...spaces, 'sh', FIRST_PROCESS, dir, name, ...HIDDEN], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const said = await Promise.race([once(createInterface(child.stdout), 'line'), once(child, 'exit')]);
    if (said[0] !== 'ready') throw new Error(`The machine ${name} could not be started.`);
    const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
    first = { process: child, pid };
    execFileSync('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
    execFileSync('ip', ['addr', 'add', `${hostAddress}/30`, 'dev', link]);
    execFileSync('ip', ['link', 'set', link, 'up']);
    const inside = (...args: string[]) => execFileSync('nsenter', ['--target', String(pid), '--net', 'ip', ...args]);
    inside('addr', 'add', `${ip}/30`, 'dev', 'eth0');
    inside('link', 'set', 'eth0', 'up');
  };
  const powerOff = async () => {
    if (first === undefined) return;
    const ended = once(first.process, 'exit');
    const gone = engine === undefined || engine.exitCode !== null || engine.signalCode !== null ? undefined : once(engine, 'exit'); // prettier-ignore
    first.process.stdin?.end();
    first = undefined;
    await Promise.all([ended, gone]);
    rmSync(join(dir, 'run'), { recursive: true, force: true });
    mkdirSync(join(dir, 'run'));
    removeGroups(group);
  };
  const machine: Machine = {
    name,
    address: `tcp://${ip}:2376`,
    hostAddress,
    certificates: join(dir, 'client'),
    env: { DOCKER_HOST: `tcp://${ip}:2376`, DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: join(dir, 'client') },
    socket,
    docker,
    etc: join(dir, 'etc'),
    data: join(dir, 'data'),
    run: async (script) => (await execute('nsenter', [...enter(), 'sh', '-c', script])).stdout,
    async start() {
      if (first === undefined) await powerOn();
      const log = openSync(join(dir, 'log'), 'a');
      const child = spawn('nsenter', [...enter(), 'dockerd', ...ENGINE, '--cgroup-parent', `/${group}`], {
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      engine = child;
      for (const end = Date.now() + ANSWER_MS; !(await answers(docker));)
        if (child.exitCode !== null || Date.now() > end)
          throw new Error(
            `The engine of ${name} does not start: ${readFileSync(join(dir, 'log'), 'utf8').slice(-2_000)}`,
          );
        else await new Promise((resolve) => setTimeout(resolve, 50));
    },
    async stop(signal) {
      if (engine === undefined || engine.exitCode !== null) return;
      const ended = once(engine, 'exit');
      await machine.run(`kill -s ${signal.slice(3)} "$(cat /run/docker.pid)"`);
      await ended;
    },
    powerOff,
    async close() {
      await powerOff();
      removeFolder(dir);
    },
  };
  return machine;
}

async function answers(docker: Docker): Promise<boolean> {
  return docker.ping().then(
    () => true,
    () => false,
  );
}

/** A network of two addresses that the host does not use. */
function freeNetwork(): { link: string; hostAddress: string; ip: string } {
  const used = execFileSync('ip', ['-o', '-4', 'addr'], { encoding: 'utf8' });
  for (;;) {
    const [b, c] = [Math.floor(Math.random() * 256), Math.floor(Math.random() * 64) * 4];
    const hostAddress = `10.231.${b}.${c + 1}`;
    if (!used.includes(` ${hostAddress}/`)) return { link: `hm-${b}-${c}`, hostAddress, ip: `10.231.${b}.${c + 2}` };
  }
}

/**
 * The data of an engine with the sandbox image, which the next engines get as copies. It takes seconds once for each image,
 * or half a minute if an engine has to load it.
 */
async function loadedData(): Promise<string> {
  const id = execFileSync('docker', ['image', 'inspect', '--format', '{{.Id}}', IMAGE], { encoding: 'utf8' });
  const place = join(tmpdir(), `${IMAGES}${id.slice(7, 19)}`);
  return (loading ??= existsSync(place) ? Promise.resolve(place) : loadImage(place));
}

let loading: Promise<string> | undefined;

async function loadImage(place: string): Promise<string> {
  for (const other of readdirSync(tmpdir()).filter((entry) => entry.startsWith(IMAGES))) removeFolder(join(tmpdir(), other)); // prettier-ignore
  const dir = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  for (const folder of ['data', 'run', 'etc']) mkdirSync(join(dir, folder));
  const machine = describeMachine('loading', dir);
  try {
    if (!copyImage(IMAGE, machine.data)) {
      await machine.start();
      await execute('sh', ['-c', `docker save ${IMAGE} | docker -H unix://${machine.socket} load`]);
      await machine.stop('SIGTERM');
      await machine.powerOff();
    }
    try {
      renameSync(join(dir, 'data'), place);
    } catch (error) {
      // Another process was faster.
      if (!existsSync(place)) throw error;
    }
  } finally {
    await machine.close();
  }
  return place;
}

/** Layers of images are never written to, so copies share their files. Everything else of an engine is its own. */
function copyData(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    const copy = (how: string) => execFileSync('cp', [how, source, target], { stdio: ['ignore', 'ignore', 'pipe'] });
    if (name !== 'overlay2') copy('-a');
    else
      try {
        copy('-al');
      } catch {
        // On another disk.
        rmSync(target, { recursive: true, force: true });
        copy('-a');
      }
  }
}

const PREFIX = 'halo-machine-';
const IMAGES = 'halo-image-of-machines-';

/** Removes what machines left whose test was killed. Their processes, mounts and networks ended with it. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = /^halo-machine-([0-9]+)-/.exec(name)?.[1];
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    removeFolder(join(tmpdir(), name));
    removeGroups(`halo-machine-${owner}-`);
  }
}

function removeFolder(dir: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const below = mounts.flatMap((line) => line.split(' ')[1] ?? []).filter((path) => path.startsWith(`${dir}/`));
  for (const path of below.reverse()) execFileSync('umount', ['--lazy', path]);
  rmSync(dir, { recursive: true, force: true });
}

/** Removes the control groups whose names begin like this; they are empty. */
function removeGroups(start: string): void {
  const root = '/sys/fs/cgroup';
  const places = existsSync(join(root, 'cgroup.procs')) ? [root] : readdirSync(root).map((name) => join(root, name));
  for (const place of places)
    for (const name of readdirSync(place).filter((entry) => entry.startsWith(start))) removeGroup(join(place, name));
}

function removeGroup(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(path, entry.name));
  try {
    rmdirSync(path);
  } catch {
    // Its last process is ending; the next sweep removes it.
  }
}
