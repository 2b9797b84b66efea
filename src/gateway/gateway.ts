import { chmod, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, rootCertificates } from 'node:tls';
import type { Usage } from '../core/agent.ts';
import { HaloError, toHaloError } from '../core/failure/errors.ts';
import type { NetworkAsked } from '../core/network.ts';
import { safeLine } from '../core/safe-text.ts';
import { createLedger, type GatewayRecord, type Ledger, type OnRefused, type Problem, type Stopped } from './ledger.ts';
import { createLive } from './model-live.ts';
import { createReplay } from './model/model-replay.ts';
import { LIMITS, MAX_HEADER_BYTES, type GatewayLimits } from './gateway-limits.ts';
import type { ModelHandler, ModelRoute } from './model/model-route.ts';
import { codeOf } from './network-error.ts';
import { serveRequest, type Doors } from './serve-request.ts';
import { openAddressBook, type Lookup } from './egress/addresses.ts';
import type { Network } from './network.ts';
import { openOutside } from './upstream-request.ts';
import { openRegistries, type RegistryRoute } from './registry/registries.ts';
import { parseAllowList, parseTarget } from './egress/host-port.ts';
import { openTunnel } from './egress/tunnel.ts';

/** The longest path that a unix socket can have, in bytes. */
const MAX_SOCKET_PATH = 107;

export interface GatewayOptions {
  /** Absolute; its folder must exist. A file that is there is replaced. */
  socketPath: string;
  /** Absent: no model route. */
  model?: ModelRoute;
  /** Exact `host:port`s for CONNECT and plain-HTTP proxy requests; absent or empty: none. */
  allow?: readonly string[];
  /** Those `host:port`s that may have addresses that are not public. An entry of `allow` that is an address may. */
  mayBePrivate?: readonly string[];
  /** Package registries that may be read; absent or empty: none. */
  registries?: readonly RegistryRoute[];
  /** Certificate authorities for those besides the common ones, as PEM. */
  authorities?: string;
  /** Resolves names; the system's way when absent. */
  lookup?: Lookup;
  onRefused?: OnRefused;
  limits?: Partial<GatewayLimits>;
}

/** The broker between one sandbox and the world. */
export interface Gateway {
  /** Tokens so far; aborted answers count as far as they told. */
  usage(): Usage;
  requests(): GatewayRecord[];
  /** The same with those that are alike counted together, as a journal wants them. */
  traffic(): NetworkAsked[];
  /** What went wrong and was not mended by a later success. */
  problem(): Problem | undefined;
  /** Set when the gateway let no more model requests pass. */
  stopped(): Stopped | undefined;
  /** In a replay that went through: where a request first differed from the recorded one, as a sentence. */
  divergence(): string | undefined;
  /** Serves a connection that came another way than through the socket, the same way; it must look like a socket. */
  accept(connection: Duplex): void;
  /** Notes why the sandbox gets no answers, for `problem`. */
  reportProblem(sentence: string): void;
  /** Ends open connections and removes the socket; safe to call again. */
  close(): Promise<void>;
}

/**
 * Starts a gateway on a unix socket that any user may connect to.
 * Throws CONFIG_INVALID (path too long, wrong allow entry or base URL), CASSETTE_MISSING, DISK_FAILED.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  checkSocketPath(options.socketPath);
  const ledger = createLedger(options.onRefused);
  const limits = { ...LIMITS, ...options.limits };
  const network = openNetwork(options, ledger, limits);
  const outside = openOutside(network);
  const model = await openModel(options.model, ledger);
  const doors: Doors = {
    ledger,
    world: { network, outside },
    limits,
    route: options.model,
    model,
    modelRequests: 0,
    pool: { bytes: limits.allBodiesBytes },
    running: new Set(),
  };
  const { server, inside } = createGatewayServer(doors);
  try {
    await listen(server, options.socketPath);
  } catch (error) {
    await model?.close();
    throw error;
  }
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of [...inside, ...network.outside]) socket.destroy();
    outside.close();
    await closed;
    await Promise.all(doors.running);
    await model?.close();
    await rm(options.socketPath, { force: true });
  };
  let closing: Promise<void> | undefined;
  return {
    usage: () => ledger.usage(),
    requests: () => ledger.requests(),
    traffic: () => ledger.traffic(),
    problem: () => ledger.problem(),
    stopped: () => ledger.stopped(),
    divergence: () => ledger.divergence(),
    accept: (connection) => void (closing === undefined ? server.emit('connection', connection) : connection.destroy()),
    reportProblem: (sentence) => ledger.reportProblem({ sentence }, 'lasting'),
    close: () => (closing ??= close()),
  };
}

function createGatewayServer(doors: Doors): { server: Server; inside: Set<Duplex> } {
  const inside = new Set<Duplex>();
  const { limits } = doors;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: 60_000,
    connectionsCheckingInterval: Math.min(5_000, limits.headersMs),
    // Both are the default; a start option of Node's may change it.
    insecureHTTPParser: false,
    requireHostHeader: true,
  });
  server.maxConnections = limits.connections;
  server.setTimeout(limits.idleMs, (socket) => socket.destroy());
  server.on('connection', (socket: Duplex) => {
    inside.add(socket);
    socket.once('close', () => inside.delete(socket));
  });
  server.on('request', (req, res) => {
    const work = serveRequest(doors, req, res).catch((error: unknown) => {
      // A client that left needs no reason.
      if (!req.socket.destroyed) doors.ledger.reportProblem({ sentence: describeFault(req, error) });
      res.destroy();
    });
    doors.running.add(work);
    void work.finally(() => doors.running.delete(work));
  });
  server.on('connect', (req, socket, head) => void openTunnel(doors.world.network, { req, socket, head }));
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    else socket.destroy();
  });
  return { server, inside };
}

function describeFault({ method, url }: IncomingMessage, error: unknown): string {
  return `halo's gateway failed at ${safeLine(`${method} ${url}`, 120)}: ${toHaloError(error).message}`;
}

function openNetwork(options: GatewayOptions, ledger: Ledger, limits: GatewayLimits): Network {
  const { allow = [], mayBePrivate = [], registries = [], authorities, lookup } = options;
  const allowed = parseAllowList(allow);
  const opened = openRegistries(registries);
  // Whoever writes an address means exactly that one, and whoever names an upstream knows where it is.
  const addresses = [...allowed].filter((name) => isIP(parseTarget(name)?.host ?? '') !== 0);
  const named = [...opened.values()].flatMap((registry) => (registry.named ? [registry.authority] : []));
  return {
    allow: allowed,
    registries: opened,
    addresses: openAddressBook({
      mayBePrivate: new Set([...parseAllowList(mayBePrivate, 'private'), ...addresses, ...named]),
      ...(lookup === undefined ? {} : { lookup }),
    }),
    ledger,
    limits,
    trust: authorities === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, authorities] }),
    outside: new Set(),
  };
}

async function openModel(route: ModelRoute | undefined, ledger: Ledger): Promise<ModelHandler | undefined> {
  if (route === undefined) return undefined;
  return route.mode === 'replay' ? createReplay(route, ledger) : createLive(route, ledger);
}

function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH) return;
  throw new HaloError(
    'CONFIG_INVALID',
    `The gateway's socket path ${path} has ${bytes} bytes; ${MAX_SOCKET_PATH} are possible.`,
    {
      hint: 'Set HALO_HOME to a folder with a shorter path.',
    },
  );
}

async function listen(server: Server, path: string): Promise<void> {
  try {
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    // The sandbox runs under a user id of its own.
    await chmod(path, 0o666);
  } catch (error) {
    server.close();
    throw new HaloError('DISK_FAILED', `The gateway could not listen on ${path} (${codeOf(error) ?? 'unknown'}).`, {
      hint: 'Check that the folder exists and that halo may write to it.',
      cause: error,
    });
  }
}
