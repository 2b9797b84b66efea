import { constants } from 'node:os';
import { PassThrough, Writable } from 'node:stream';
import { HaloError } from '../../../core/failure/errors.ts';
import { deferred, ignore } from '../../../lib/async.ts';
import { maskingSink } from '../../../lib/secrets/masker.ts';
import { tailSink } from '../../../lib/streams.ts';
import { shellQuote } from '../../../lib/text.ts';
import { formatConfigDuration, formatSize } from '../../../lib/units.ts';
import { imageMissing } from '../../../sandbox/docker/docker-client.ts';
import { hasOwnKernel } from '../../../sandbox/isolation-check/check-isolation.ts';
import type { ImageFacts, Mount, Sandbox, SandboxExit } from '../../../sandbox/sandbox.ts';
import type { SandboxContext } from '../../../worker/attempt/open-attempt.ts';
import type { Checkout } from '../../../worker/workspace/checkout-script.ts';
import type { ServiceAccess } from '../../../worker/workspace/step-services.ts';
import { dataFolder } from '../core/prepared-data.ts';
import { IN_MEMORY, type Service } from '../core/service.ts';
import { openPreparedData } from './prepared-data.ts';
import { runPrepare, unendingSink } from './run-prepare.ts';
import { copyData } from './copy-data.ts';
import { findServiceUser } from './service-user.ts';

/** Where the sandboxes of commands see the sockets of services, and where a service makes them. */
const ACCESS_DIR = '/halo/services';
const SOCKET_DIR = '/halo/sockets';

/** How much of the log of a service is kept. */
const LOG_BYTES = 1024 * 1024;

/** A service lives as long as its command, which has limits of its own. */
const UNLIMITED_MS = 2 ** 31 - 1;

/** Below /run, which is empty in a sandbox: the folders of well-known images. */
const RUN_FOLDERS = ['postgresql', 'mysqld', 'mariadb', 'redis', 'valkey'].map((name) => `/run/${name}`);

/** Why a service ended, a clause. */
interface ServiceEnd {
  why: string;
  /** It was ready and exited 0: its command, which alone reaches it, has asked it to, like `SHUTDOWN` of Redis. */
  wasAsked: boolean;
}

type Log = ReturnType<typeof tailSink>;

interface ServiceOptions {
  /** Of the command, unique in its attempt. */
  name: string;
  /** What is in the workspace of the command, once it is known. */
  checkedOut: Promise<Checkout>;
  /** The volume that is to get its data, instead of one that is removed with it. */
  into?: string;
  /** Of the service for which it makes the data. */
  log?: Log;
}

/** One service of one command, from its creation to its removal. */
export class RunningService {
  readonly service: Service;
  /** Resolves when it is ready. */
  readonly ready: Promise<void>;
  /** Resolves when it does not get ready, or has ended before its command: to why, or to a fault of the engine. */
  readonly failed: Promise<ServiceEnd | Error>;
  isReady = false;
  /** From its start until it was ready. */
  readyMs = 0;
  /** How long its data took to be prepared for it, in ms; undefined: it was there. */
  preparedMs: number | undefined;
  private readonly context: SandboxContext;
  private readonly options: ServiceOptions;
  private readonly log: Log;
  private readonly becameReady = deferred<void>();
  private readonly hasFailed = deferred<ServiceEnd | Error>();
  private readonly placed = deferred<ServiceAccess>();
  private readonly stdin = new PassThrough();
  private readonly removed = new AbortController();
  private starting: Promise<Sandbox> | undefined;
  /** Of its data. */
  private readonly volumes: string[] = [];
  private readonly exited = deferred<SandboxExit>();
  private isStopping = false;
  private stopSignal = 0;

  /** Starts it. */
  constructor(context: SandboxContext, service: Service, options: ServiceOptions) {
    this.context = context;
    this.service = service;
    this.options = options;
    this.log = options.log ?? tailSink(LOG_BYTES);
    this.ready = this.becameReady.promise;
    this.failed = this.hasFailed.promise;
    this.placed.promise.catch(ignore); // observed by `access`
    this.exited.promise.catch(ignore); // observed by `stop`
    this.start().catch((error: unknown) => {
      this.placed.reject(error);
      this.exited.reject(error);
      if (!this.removed.signal.aborted) this.hasFailed.resolve(error as Error);
    });
  }

  /** Throws IMAGE_MISSING, CONFIG_INVALID, DOCKER_FAILED. */
  access(): Promise<ServiceAccess> {
    return this.placed.promise;
  }

  /** The end of its log. */
  readonly tail = (): string => this.log.text();

  /** Ends it as its image wants it. Resolves to why that was not clean, as a clause. */
  async stop(): Promise<string | undefined> {
    this.isStopping = true;
    this.stdin.end();
    const timer = setTimeout(() => void this.remove().catch(ignore), this.service.readyMs);
    const { exitCode, ended } = await this.exited.promise.finally(() => clearTimeout(timer));
    if (ended !== 'exited') return 'it did not end when it was asked to';
    return exitCode === 0 || exitCode === 128 + this.stopSignal
      ? undefined
      : `it exited ${exitCode} when it was asked to end`;
  }

  /** Also its data, which would fill the disk until the end of the attempt. */
  async remove(): Promise<void> {
    this.removed.abort();
    const sandbox = await this.starting?.catch(ignore);
    await sandbox?.remove();
    for (const volume of this.volumes) await this.context.resources.removeVolume(volume);
  }

  private volumeName(of: 'data' | 'sockets' | 'view', index = 0): string {
    return `${this.options.name}-${this.service.name}-${of}${index === 0 ? '' : index}`;
  }

  private async start(): Promise<void> {
    const { context, service } = this;
    const { resources, worker, config } = context;
    checkRuntime(resources.runtime);
    const image = await worker.engine.describeImage(service.image);
    if (image === undefined) throw imageMissing(service.image, { engine: worker.engineName });
    const own = service.data === undefined || service.data === IN_MEMORY ? [] : [service.data];
    const folders = [...new Set([...own, ...image.volumes])];
    const { user, missing } = await findServiceUser(worker.engine, image, folders);
    if (missing.length > 0)
      throw new HaloError('CONFIG_INVALID', `The image ${service.image} of services.${service.name} lacks the folder ${missing.join(', ')}.`, { hint: 'Set data to a folder of the image, or to "tmpfs".' }); // prettier-ignore
    if (service.data === IN_MEMORY && folders.length === 0)
      throw new HaloError('CONFIG_INVALID', `The image ${service.image} of services.${service.name} has no VOLUME that could be in memory.`, { hint: 'Set data to the folder of its data.' }); // prettier-ignore
    const sockets = this.volumeName('sockets');
    await resources.createSocketVolume(sockets, user);
    const source = resources.volumeName(sockets);
    const seen = `${ACCESS_DIR}/${service.name}`;
    this.placed.resolve({
      mounts: [{ kind: 'volume', source, target: seen, readOnly: true, copyUp: false }],
      forwards: service.ports.map((port) => ({ port, socket: `${seen}/${port}.sock` })),
    });
    const data = await this.openFolders(image, folders, user);
    if (this.removed.signal.aborted) return;
    this.starting = resources.startSandbox({
      image: service.image,
      labels: resources.labels(`service-${service.name}`),
      user,
      workdir: '/',
      env: { ...service.env },
      mounts: [...data, { kind: 'volume', source, target: SOCKET_DIR, readOnly: false, copyUp: false }],
      limits: { ...config.limits, memoryBytes: service.memoryBytes, cpus: service.cpus },
      writesRun: true,
    });
    await this.follow(await this.starting, image);
  }

  private async openFolders(image: ImageFacts, folders: readonly string[], user: number): Promise<Mount[]> {
    const { service, options } = this;
    const open = (others: readonly string[]) =>
      Promise.all(others.map((target, index) => this.openData(target, index, user)));
    if (service.prepare.length === 0) return open(folders);
    const found = dataFolder(service, image.volumes);
    if ('fault' in found)
      throw new HaloError('CONFIG_INVALID', `${found.fault}.`, { hint: `Set services.${service.name}.data.` });
    const { folder } = found;
    const [rest, source] = await Promise.all([
      open(folders.filter((each) => each !== folder)),
      options.into ?? this.openPrepared(image, folder, user),
    ]);
    // Only an empty volume takes the files of the image, with owner and mode of the folder.
    return [...rest, { kind: 'volume', source, target: folder, readOnly: false, copyUp: options.into !== undefined }];
  }

  /** A volume that shows the prepared data, and keeps for itself what is written. */
  private async openPrepared(image: ImageFacts, folder: string, user: number): Promise<string> {
    const { context, service, options } = this;
    const { config, resources, worker } = context;
    const signal = AbortSignal.any([context.signal, this.removed.signal]);
    const checkedOut = await options.checkedOut;
    const request = { service, image, user, folder, checkedOut, signal };
    const name = `${options.name}-prepare`;
    const data = await openPreparedData(context, request, async (own, { volume, ...plan }) => {
      const server = new RunningService(own, service, { ...options, name, into: volume, log: this.log });
      try {
        await runPrepare(own, { ...plan, service, server, name: `${name}-${service.name}`, log: this.log.sink });
      } finally {
        await server.remove();
      }
    });
    this.preparedMs = data.ms;
    const view = this.volumeName('view');
    this.volumes.push(view);
    if ((await worker.layerMode(config)) === 'overlay') {
      this.volumes.push(`${view}-upper`);
      await resources.createOverlay(view, data.volume, { user, keepsMode: true });
    } else await copyData(context, { from: data.volume, to: view, service, folder, user });
    return resources.volumeName(view);
  }

  /** A volume takes owner and mode of the folder of the image. */
  private async openData(target: string, index: number, user: number): Promise<Mount> {
    const { resources } = this.context;
    if (this.service.data === IN_MEMORY) return { kind: 'memory', target, sizeBytes: this.service.memoryBytes };
    const name = this.volumeName('data', index);
    this.volumes.push(name);
    await resources.createVolume(name, user);
    return { kind: 'volume', source: resources.volumeName(name), target, readOnly: false, copyUp: true };
  }

  private async follow(sandbox: Sandbox, image: ImageFacts): Promise<void> {
    const { context, service } = this;
    const { config, worker } = context;
    const begun = performance.now();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void sandbox.remove().catch(ignore);
    }, service.readyMs);
    const stdout = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.isReady && chunk.includes('ready')) {
          clearTimeout(timer);
          this.isReady = true;
          this.readyMs = Math.round(performance.now() - begun);
          this.becameReady.resolve();
        }
        done();
      },
      // At the end of the container.
      final: (done) => {
        this.stdin.end();
        done();
      },
    });
    this.stopSignal = signalNumber(image.stopSignal);
    try {
      const exit = await sandbox.run({
        script: serveScript(service, image),
        stdin: this.stdin,
        stdout,
        stderr: maskingSink(worker.masker, unendingSink(this.log.sink)),
        wallMs: UNLIMITED_MS,
        idleMs: UNLIMITED_MS,
        outputBytes: config.limits.outputBytes,
      });
      this.exited.resolve(exit);
      if (this.isStopping) return;
      // Removed with its attempt.
      if (isLate || exit.ended !== 'aborted')
        this.hasFailed.resolve({
          why: describeEnd(service, exit, { isLate, limits: config.limits }),
          wasAsked: this.isReady && exit.ended === 'exited' && exit.exitCode === 0,
        });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Throws CONFIG_INVALID for a runtime whose sandboxes cannot reach services. */
export function checkRuntime(runtime: string | undefined): void {
  if (!hasOwnKernel(runtime)) return;
  throw new HaloError('CONFIG_INVALID', `Services do not work with the runtime ${runtime}: its sandboxes share no sockets.`, { hint: 'Set [sandbox] runtime = "runc" in <HALO_HOME>/config.toml.' }); // prettier-ignore
}

/** Runs what the image runs, behind sockets that lead to its ports. */
function serveScript(service: Service, image: ImageFacts): string {
  const { entrypoint, workdir, stopSignal } = image;
  const words = [...entrypoint, ...(service.command ?? image.command)];
  const pairs = service.ports.map((port) => `${port} ${SOCKET_DIR}/${port}.sock`);
  const command = words.map(shellQuote).join(' ');
  return [
    `mkdir -p ${RUN_FOLDERS.join(' ')}`,
    `cd ${shellQuote(workdir === '' ? '/' : workdir)}`,
    `exec /opt/halo/bin/forward --serve ${shellQuote(service.ready ?? '')} ${signalNumber(stopSignal)} ${pairs.join(' ')} -- ${command}`,
  ].join('\n');
}

/** `SIGINT`, `INT` or `2`. */
function signalNumber(name: string): number {
  const known = constants.signals as Readonly<Record<string, number>>;
  return known[name] ?? known[`SIG${name}`] ?? (Number(name) || constants.signals.SIGTERM);
}

/** Why a service ended, as a clause. */
export function describeEnd(
  { name, ready, readyMs, ports, memoryBytes }: Pick<Service, 'name' | 'ready' | 'readyMs' | 'ports' | 'memoryBytes'>,
  exit: Pick<SandboxExit, 'ended' | 'exitCode' | 'outOfMemory'>,
  { isLate, limits }: { isLate: boolean; limits: { outputBytes: number; diskBytes: number; freeDiskBytes: number } },
): string {
  const what = `the service ${name}`;
  if (isLate) {
    const check = ready === undefined ? '' : ' and its check exits 0';
    const which = ports.length === 1 ? 'port' : ready === undefined ? 'each of the ports' : 'one of the ports';
    const when = `${which} ${ports.join(', ')} accepts${check}`;
    return `${what} was not ready within ${formatConfigDuration(readyMs)} (services.${name}.ready_within): it is when ${when}`;
  }
  switch (exit.ended) {
    case 'disk':
      return `the data of ${what} is larger than ${formatSize(limits.diskBytes)} (limits.disk)`;
    case 'disk-floor':
      return `less than ${formatSize(limits.freeDiskBytes)} (limits.free_disk) was left on the machine’s disk, and the data of ${what} was the largest`;
    case 'output':
      return `${what} printed more than ${formatSize(limits.outputBytes)} (limits.output)`;
    case 'exited':
      if (exit.outOfMemory === 'yes')
        return `${what} ran out of memory (services.${name}.memory = ${formatSize(memoryBytes)})`;
      return `${what} ended by itself: exited ${String(exit.exitCode)}`;
    default:
      return `${what} was stopped`;
  }
}
