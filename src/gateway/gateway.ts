import { chmod, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Usage } from '../core/agent.ts';
import { HaloError, toHaloError } from '../core/failure/errors.ts';
import type { EgressRequests } from '../core/journal/egress-events.ts';
import { safeLine } from '../core/text/safe-text.ts';
import {
  RequestLog,
  type GatewayProblem,
  type GatewayStop,
  type OnRefused,
  type RequestRecord,
} from './request-log.ts';
import { createLiveHandler } from './model/model-live.ts';
import { createReplayHandler } from './model/model-replay.ts';
import { LIMITS, MAX_HEADER_BYTES, type GatewayLimits } from './gateway-limits.ts';
import type { DeliverMessage, ModelHandler, ModelRoute, SentMessage } from './model/model-route.ts';
import { errorCode } from './error-responses.ts';
import { serveRequest, type GatewayContext } from './serve-request.ts';
import { createAddressResolver, type Lookup } from './egress/addresses.ts';
import type { EgressContext } from './egress/egress-rules.ts';
import { parseAllowedRepositories, type GitRoute } from './git-proxy.ts';
import { openArchives, type ArchiveOptions } from './registry/registry-cache.ts';
import { openRegistryTunnels } from './registry/registry-tunnel.ts';
import { openRegistries, type RegistryRoute } from './registry/registries.ts';
import { formatEndpoint, parseAllowList, parseEndpoint } from './egress/host-port.ts';
import { serveTunnel } from './egress/tunnel.ts';
import type { CertificateAuthority } from '../lib/network/certificate-authority.ts';
import { openConnections, type ConnectionOptions, type Connections } from '../lib/network/connections.ts';
import { defined } from '../lib/guards.ts';

/** Maximum length of a unix socket path, in bytes. */
const MAX_SOCKET_PATH = 107;

export interface GatewayOptions {
  /** Absolute path in an existing folder. An existing file is replaced. */
  socketPath: string;
  /** The model route; none when absent. */
  model?: ModelRoute;
  /** Exact `host:port`s allowed for CONNECT and plain HTTP proxy requests; none when absent. */
  allow?: readonly string[];
  /** `host:port`s that may resolve to non-public addresses, in addition to the addresses in `allow`. */
  mayBePrivate?: readonly string[];
  /** Package registries that can be read; none when absent. */
  registries?: readonly RegistryRoute[];
  /** Serves tunnels to registries with certificates of this authority; without it, there are none. */
  authority?: CertificateAuthority;
  /** Repositories that can be fetched; none when absent. */
  git?: GitRoute;
  /** Where archives of the registries are kept; nowhere when absent. */
  archives?: ArchiveOptions;
  /** How this machine reaches others; directly when absent. */
  connections?: ConnectionOptions;
  /** Resolves host names; the system resolver when absent. */
  lookup?: Lookup;
  onRefused?: OnRefused;
  limits?: Partial<GatewayLimits>;
}

/**
 * Starts a gateway on a unix socket that any user may connect to.
 * Throws CONFIG_INVALID (path too long, wrong allow entry or base URL), CASSETTE_MISSING, DISK_FAILED.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  assertSocketPath(options.socketPath);
  const log = new RequestLog(options.onRefused);
  const limits = { ...LIMITS, ...options.limits };
  const network = openNetwork(options, log, limits);
  const model = await openModel(options.model, log, network.connections);
  const gateway = new Gateway(options.socketPath, {
    log,
    tunnels: options.authority && openRegistryTunnels(network.registries, options.authority),
    git: { places: parseAllowedRepositories(options.git?.urls ?? []), credentials: options.git?.credentials ?? [] },
    proxy: {
      network,
      archives: options.archives === undefined ? undefined : openArchives(options.archives),
    },
    limits,
    route: options.model,
    model,
    modelRequests: 0,
    pool: { bytes: limits.allBodiesBytes },
    running: new Set(),
  });
  try {
    await gateway.listen();
  } catch (error) {
    await model?.close();
    throw error;
  }
  return gateway;
}

/** The broker between one sandbox and the network. */
export class Gateway {
  private readonly socketPath: string;
  private readonly context: GatewayContext;
  private readonly server: Server;
  private readonly clientSockets = new Set<Duplex>();
  private closing: Promise<void> | undefined;

  constructor(socketPath: string, context: GatewayContext) {
    this.socketPath = socketPath;
    this.context = context;
    this.server = createGatewayServer(context, this.clientSockets);
  }

  /** Call it once, before anything else. Throws DISK_FAILED. */
  listen(): Promise<void> {
    return listen(this.server, this.socketPath);
  }

  /** The usage so far. Aborted responses count as far as they reported their usage. */
  usage(): Usage {
    return this.context.log.usage();
  }

  requests(): RequestRecord[] {
    return this.context.log.requests();
  }

  /** All requests by target, for the report of a run. */
  traffic(): EgressRequests[] {
    return this.context.log.traffic();
  }

  /** The last problem that no later success has cleared. */
  problem(): GatewayProblem | undefined {
    return this.context.log.problem();
  }

  /** Set when the gateway stopped model requests. */
  stopped(): GatewayStop | undefined {
    return this.context.log.stopped();
  }

  /** In a successful replay: the first difference to the recording, as a sentence. */
  divergence(): string | undefined {
    return this.context.log.divergence();
  }

  /** See `ModelHandler`. */
  recordMessage(message: SentMessage, sent: string): void {
    this.context.model?.recordMessage?.(message, sent);
  }

  /** See `ModelHandler`. */
  replayMessages(deliver: DeliverMessage): void {
    this.context.model?.replayMessages?.(deliver);
  }

  /** Serves a connection that did not arrive through the unix socket. It must behave like a socket. */
  accept(connection: Duplex): void {
    if (this.closing === undefined) this.server.emit('connection', connection);
    else connection.destroy();
  }

  /** Records why the sandbox receives no responses, for `problem`. */
  reportProblem(sentence: string): void {
    this.context.log.reportProblem({ sentence }, 'lasting');
  }

  /** Closes all connections and removes the socket. Safe to call repeatedly. */
  close(): Promise<void> {
    return (this.closing ??= this.closeOnce());
  }

  private async closeOnce(): Promise<void> {
    const { proxy, running, model } = this.context;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of [...this.clientSockets, ...proxy.network.sockets]) socket.destroy();
    proxy.network.connections.close();
    await closed;
    await Promise.all(running);
    await model?.close();
    await rm(this.socketPath, { force: true });
  }
}

/** `clientSockets` holds the open connections of the sandbox. */
function createGatewayServer(context: GatewayContext, clientSockets: Set<Duplex>): Server {
  const { limits } = context;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: 60_000,
    connectionsCheckingInterval: Math.min(5_000, limits.headersMs),
    // Explicit, because a command line option of Node can change these defaults.
    insecureHTTPParser: false,
    requireHostHeader: true,
  });
  server.maxConnections = limits.connections;
  server.setTimeout(limits.idleMs, (socket) => socket.destroy());
  server.on('connection', (socket: Duplex) => {
    clientSockets.add(socket);
    socket.once('close', () => clientSockets.delete(socket));
  });
  server.on('request', (req, res) => {
    context.tunnels?.rewrite(req);
    const work = serveRequest(context, req, res).catch((error: unknown) => {
      // A client that disconnected is not a problem.
      if (!req.socket.destroyed) context.log.reportProblem({ sentence: describeFault(req, error) });
      res.destroy();
    });
    context.running.add(work);
    void work.finally(() => context.running.delete(work));
  });
  server.on('connect', (req, socket, head) => {
    const { network } = context.proxy;
    const target = parseEndpoint(req.url ?? '');
    const name = target === undefined ? '' : formatEndpoint(target);
    if (network.allow.has(name) || !context.tunnels?.serves(name))
      return void serveTunnel(network, { req, socket, head });
    socket.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) socket.unshift(head);
    server.emit('connection', context.tunnels.open(name, socket));
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    else socket.destroy();
  });
  return server;
}

function describeFault({ method, url }: IncomingMessage, error: unknown): string {
  return `The gateway failed at ${safeLine(`${method} ${url}`, 120)}: ${toHaloError(error).message}`;
}

function openNetwork(options: GatewayOptions, log: RequestLog, limits: GatewayLimits): EgressContext {
  const { allow = [], mayBePrivate = [], registries = [], lookup } = options;
  const allowed = parseAllowList(allow);
  const opened = openRegistries(registries);
  const connections = openConnections(options.connections);
  // An address in the configuration, or a configured upstream, is explicitly trusted to be non-public.
  const addresses = [...allowed].filter((name) => isIP(parseEndpoint(name)?.host ?? '') !== 0);
  const named = [...opened.values()].flatMap((registry) => registry.named);
  const gitServers = parseAllowedRepositories(options.git?.urls ?? []).map(({ authority }) => authority);
  return {
    allow: allowed,
    registries: opened,
    addresses: createAddressResolver({
      mayBePrivate: new Set([...parseAllowList(mayBePrivate, 'private'), ...addresses, ...named, ...gitServers]),
      isProxied: connections.isProxied,
      ...defined({ lookup }),
    }),
    log,
    limits,
    connections,
    sockets: new Set(),
  };
}

async function openModel(
  route: ModelRoute | undefined,
  log: RequestLog,
  connections: Connections,
): Promise<ModelHandler | undefined> {
  if (route === undefined) return undefined;
  return route.mode === 'replay' ? createReplayHandler(route, log) : createLiveHandler(route, log, connections);
}

function assertSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH) return;
  throw new HaloError(
    'CONFIG_INVALID',
    `The gateway's socket path ${path} has ${bytes} bytes; the maximum is ${MAX_SOCKET_PATH}.`,
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
    // The sandbox runs under another user id.
    await chmod(path, 0o666);
  } catch (error) {
    server.close();
    throw new HaloError('DISK_FAILED', `The gateway could not listen on ${path} (${errorCode(error) ?? 'unknown'}).`, {
      hint: 'Check that the folder exists and is writable for halo.',
      cause: error,
    });
  }
}
