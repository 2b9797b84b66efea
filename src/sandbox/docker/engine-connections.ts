import { X509Certificate } from 'node:crypto';
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { inspect } from 'node:util';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { ignore } from '../../lib/async.ts';
import type { EngineTls } from '../../core/engine/engine-address.ts';
import { keyFingerprint } from '../../lib/network/certificate-authority.ts';

/** The connections of one engine: its calls wait for no other engine, and use nothing of another one. */
export interface EngineConnections {
  /** For calls that the engine answers and ends. */
  brief: HttpAgent;
  /** For calls that may last as long as a sandbox: its streams, and the wait for its end. */
  lasting: HttpAgent;
}

/** An engine that accepts no connection in this time, in ms, is treated as one that does not answer. */
const CONNECT_MS = 15_000;
/** How long a connection may be idle before the kernel asks whether the other end is still there, in ms. */
const PROBE_MS = 15_000;
/** The largest answer to a brief call, in bytes. What an engine lists of halo's is far less. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** A property of Node's agents that its types leave out. */
interface Dispatcher {
  addRequest: (request: ClientRequest, ...rest: unknown[]) => void;
}

/** `protocol`: `https` without `tls` is for the engine of the environment, whose certificates dockerode reads. */
export function openConnections(protocol: string | undefined, tls: EngineTls | undefined): EngineConnections {
  const create = () => {
    // Not limited here: Node would create connections for queued requests that were given up, and not observe their errors.
    const options = { keepAlive: true };
    if (protocol !== 'https') return new HttpAgent(options);
    return new HttpsAgent(tls === undefined ? options : { ...options, ...verified(tls) });
  };
  const [brief, lasting] = [create(), create()];
  for (const agent of [brief, lasting]) {
    ignoreLateErrors(agent);
    // dockerode's client writes the options of each request as text, also if nothing logs it.
    Object.defineProperty(agent, inspect.custom, { value: () => 'agent' });
  }
  beforeEach(brief, (request) => {
    request.once('socket', (socket) => limitConnecting(request, socket));
    request.once('response', (response) => limitAnswer(request, response));
  });
  beforeEach(lasting, (request) => {
    request.once('socket', (socket) => limitConnecting(request, socket));
    request.once('response', (response) => {
      if (isReadWhole(request, response)) limitAnswer(request, response);
    });
  });
  return { brief, lasting };
}

/** TLS 1.2 or newer with both certificates; the common authorities, and variables that turn checks off, do not count. */
function verified({ ca, cert, key, fingerprint }: EngineTls) {
  return {
    ca,
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: true,
    checkServerIdentity: (host: string, peer: PeerCertificate) =>
      checkServerIdentity(host, peer) ?? findOtherKey(peer, fingerprint),
  };
}

function findOtherKey(peer: PeerCertificate, fingerprint: string | undefined): Error | undefined {
  if (fingerprint === undefined) return undefined;
  const found = keyFingerprint(new X509Certificate(peer.raw).publicKey);
  if (found === fingerprint.toLowerCase()) return undefined;
  return Object.assign(new Error(`its key has the fingerprint ${found}, not the configured one`), {
    code: 'ERR_TLS_CERT_FINGERPRINT',
  });
}

/** Calls `watch` with every request before it gets a connection. */
function beforeEach(agent: HttpAgent, watch: (request: ClientRequest) => void): void {
  const dispatcher = agent as unknown as Dispatcher;
  const add = dispatcher.addRequest.bind(agent);
  dispatcher.addRequest = (request, ...rest) => {
    watch(request);
    add(request, ...rest);
  };
}

/** A connection that its call has given up before it was there has no other observer. */
function ignoreLateErrors(agent: HttpAgent): void {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => connect(options, callback)?.on('error', ignore);
}

function limitConnecting(request: ClientRequest, socket: Socket): void {
  if (request.reusedSocket) return;
  socket.setKeepAlive(true, PROBE_MS);
  const isTls = 'encrypted' in socket;
  if (!socket.connecting && !isTls) return;
  const timer = setTimeout(() => {
    request.destroy(noConnection(`no connection within ${CONNECT_MS / 1_000} s`));
  }, CONNECT_MS).unref();
  const stop = () => clearTimeout(timer);
  socket.once(isTls ? 'secureConnect' : 'connect', stop);
  socket.once('close', stop);
}

/** Whether dockerode collects the answer, instead of handing its stream on: that of a wait, and errors. */
function isReadWhole({ path }: ClientRequest, { statusCode = 0 }: IncomingMessage): boolean {
  return /\/containers\/[^/]+\/wait\b/.test(path) || statusCode >= 300;
}

function noConnection(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' });
}

function limitAnswer(request: ClientRequest, response: IncomingMessage): void {
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_ANSWER_BYTES) return;
    request.destroy(new Error(`its response is larger than ${MAX_ANSWER_BYTES / 1024 ** 2} MiB`));
  });
}
