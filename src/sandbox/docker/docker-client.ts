import Docker from 'dockerode';
import { openConnections, type EngineConnections } from './engine-connections.ts';
import { AGENT_PROGRAMS, agentImage, programOfImage, type ProgramId } from '../../core/agent-program.ts';
import { LOCAL_ENGINE, localEngine, type EngineAddress, type EngineTls } from '../../core/engine/engine-address.ts';
import { findOpenFilesError, HaloError, isDiskFullMessage } from '../../core/failure/errors.ts';

/** Long enough for an engine under heavy load. */
const DEADLINE_MS = 120_000;

type Dial = Docker['modem']['dial'];

/** A client of dockerode, with what its types leave out. */
interface Modem {
  dial: Dial;
  timeout?: number | undefined;
  protocol?: string;
  buildRequest(request: object, call: Call, data: unknown, answer: unknown): void;
}
type Answer = NonNullable<Parameters<Dial>[1]>;

/** How dockerode describes a call. */
interface Call {
  path: string;
  hijack?: boolean | undefined;
  isStream?: boolean | undefined;
  openStdin?: boolean | undefined;
}

/**
 * Opens a client of an engine with a deadline for every call. dockerode alone waits forever for an engine that is stopped
 * or dies during a response. For the engine of the environment, DOCKER_CLIENT_TIMEOUT (ms) sets the deadline. dockerode
 * reads it for tcp:// engines and would apply it to the silence of a stream, but a sandbox may be silent for longer.
 */
export function openDockerClient(at: EngineAddress = localEngine, options: { deadlineMs?: number } = {}): Docker {
  const docker = new Docker(at.address === undefined ? undefined : connectionOf(at.address, at.tls));
  const modem = docker.modem as unknown as Modem;
  const deadlineMs = options.deadlineMs ?? modem.timeout ?? DEADLINE_MS;
  modem.timeout = undefined;
  names.set(modem, at.name);
  const connections = openConnections(modem.protocol, at.tls);
  useConnections(modem, connections);
  let isClosed = false;
  closers.set(docker, () => {
    isClosed = true;
    connections.brief.destroy();
    connections.lasting.destroy();
  });
  const dial = modem.dial.bind(modem);
  const admit = openTurns();
  modem.dial = (call, answer) => {
    const named: Answer = (error, result) => {
      if (error instanceof Error) (error as EngineError).engine = at.name;
      answer?.(error, result);
    };
    if (isClosed) return void queueMicrotask(() => named(new Error('the connection to it was closed'), null));
    // A wait ends with the container, so its caller sets the limit.
    if (isWait(call)) return dial(call, named);
    const giveUp = new AbortController();
    let open = true;
    let leave = () => undefined as void;
    const settle: Answer = (error, result) => {
      if (!open) return;
      open = false;
      clearTimeout(timer);
      // dockerode may call this before `begin` has returned.
      queueMicrotask(() => leave());
      // An incomplete response is not valid JSON and arrives as bytes.
      const broken = Buffer.isBuffer(result) && result.length > 0;
      named(broken ? new Error('its response was cut off') : error, result);
    };
    const begin = () => dial({ ...call, abortSignal: giveUp.signal }, settle);
    const timer = setTimeout(() => {
      settle(new Error(`it did not answer within ${deadlineMs / 1_000} s`), null);
      giveUp.abort();
    }, deadlineMs);
    if (isLasting(call)) begin();
    else leave = admit(begin);
  };
  return docker;
}

/** The maximum number of calls that an engine has to answer at a time. Further ones wait, within their deadlines. */
const MAX_CALLS = 32;

/** Returns a function that calls another one in turn. It returns a function that leaves the turn to the next one. */
function openTurns(): (begin: () => void) => () => void {
  const running = new Set<() => void>();
  const waiting = new Set<() => void>();
  const next = () => {
    for (const begin of waiting) {
      if (running.size >= MAX_CALLS) return;
      waiting.delete(begin);
      running.add(begin);
      begin();
    }
  };
  return (begin) => {
    waiting.add(begin);
    next();
    return () => {
      waiting.delete(begin);
      running.delete(begin);
      next();
    };
  };
}

function isWait({ path }: Call): boolean {
  return /^\/containers\/[^/]+\/wait\b/.test(path);
}

/** Whether the answer may last as long as a sandbox. */
function isLasting(call: Call): boolean {
  return isWait(call) || call.hijack === true || call.isStream === true || call.openStdin === true;
}

/** Sends calls over the connections of their engine. An engine that refers to another address is not followed. */
function useConnections(modem: Modem, { brief, lasting }: EngineConnections): void {
  const build = modem.buildRequest.bind(modem);
  modem.buildRequest = (request, call, data, answer) => {
    build({ ...request, agent: isLasting(call) ? lasting : brief, maxRedirects: 0 }, call, data, answer);
  };
}

const closers = new WeakMap<Docker, () => void>();

/** Ends the connections of a client of `openDockerClient`. Calls without an answer fail, and so do all later ones. */
export function closeDockerClient(docker: Docker): void {
  closers.get(docker)?.();
}

/** The names of engines, by their clients. */
const names = new WeakMap<object, string>();

/** How a sentence begins that is about the engine of a client, container or volume. */
export function engineOf({ modem }: { modem: object }): string {
  return subjectOf(names.get(modem));
}

function subjectOf(name = LOCAL_ENGINE): string {
  return name === LOCAL_ENGINE ? 'Docker' : `The engine ${name}`;
}

const SOCKET = 'unix://';

/** The options of dockerode for an address; all are given, because it takes those that are missing from the environment. */
function connectionOf(address: string, tls: EngineTls | undefined): Docker.DockerOptions {
  const { hostname, port } = new URL(address);
  const isSocket = address.startsWith(SOCKET);
  return {
    socketPath: isSocket ? address.slice(SOCKET.length) : undefined,
    host: isSocket ? undefined : hostname,
    port: isSocket ? undefined : port,
    protocol: tls === undefined ? 'http' : 'https',
    ca: tls?.ca,
    cert: tls?.cert,
    key: tls?.key,
    timeout: undefined,
  };
}

interface EngineError extends Error {
  statusCode?: number;
  code?: string;
  reason?: string;
  /** Its name. */
  engine?: string;
  json?: { message?: string };
}

/** Returns the HTTP status of the engine's response, or undefined when there was none. */
export function engineStatus(error: unknown): number | undefined {
  return (error as EngineError).statusCode;
}

/** Maximum length of an engine's message, which may contain a path of any length. */
const MAX_MESSAGE = 1_000;

/**
 * Converts an error of dockerode. `what` names the failed action, such as `create a container`. `of`: the container of a
 * stream, whose errors do not name the engine.
 */
export function toDockerError(error: unknown, what: string, of?: { modem: object }): HaloError {
  if (error instanceof HaloError) return error;
  const openFiles = findOpenFilesError(error);
  if (openFiles !== undefined) return openFiles;
  const { code = '', message, json, engine = of && names.get(of.modem) } = error as EngineError;
  const subject = subjectOf(engine);
  if (AWAY_CODES.has(code) || isTlsError(code)) {
    const says = isTlsError(code) ? 'cannot be trusted' : 'does not answer';
    return new HaloError('DOCKER_UNAVAILABLE', `${subject} ${says} (${message}).`, {
      hint: hintFor(engine, code),
      cause: error,
    });
  }
  const why = (json?.message ?? message).slice(0, MAX_MESSAGE).replace(/[.\s]+$/, '');
  if (isDiskFullMessage(why)) {
    const hint = 'Free some space on the machine of the container engine.';
    return new HaloError('DISK_FAILED', `The disk is full, so ${inSentence(subject)} could not ${what}: ${why}.`, {
      hint,
      cause: error,
    });
  }
  return new HaloError('DOCKER_FAILED', `${subject} could not ${what}: ${why}.`, { cause: error });
}

/** Without a connection, a call has had no effect. */
const AWAY_CODES = new Set([
  ...['ENOENT', 'ECONNREFUSED', 'EACCES', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
]);

/** Codes of Node and OpenSSL for a handshake that one of the two sides refused. */
function isTlsError(code: string): boolean {
  return /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_|HOSTNAME_|EPROTO$)/.test(code);
}

function inSentence(subject: string): string {
  return subject.replace(/^The /, 'the ');
}

function hintFor(engine = LOCAL_ENGINE, code: string): string {
  if (engine !== LOCAL_ENGINE && isTlsError(code))
    return `Check the certificates of ${engine}, and whether another machine has its address.`;
  if (engine !== LOCAL_ENGINE) return `Check the machine of ${engine}, its Docker engine and the network in between.`;
  if (isTlsError(code)) return 'Check DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH.';
  if (code === 'EACCES')
    return 'Add this user to the docker group, which may use the Docker socket, or set DOCKER_HOST.';
  return 'Start the Docker engine, or set DOCKER_HOST.';
}

/** Statuses of a proxy in front of an engine that is starting or unavailable. */
const AWAY = [502, 503, 504];

/**
 * Whether an error is the engine's own response to the request. An interrupted connection, because the engine was killed
 * or stopped, is not: the same request may succeed a moment later.
 */
export function isEngineResponse(error: unknown): boolean {
  if (!(error instanceof HaloError) || error.code !== 'DOCKER_FAILED') return false;
  const status = error.cause === undefined ? undefined : engineStatus(error.cause);
  return status !== undefined && !AWAY.includes(status);
}

/** `error`: of the engine, which names it. */
export function imageMissing(image: string, error: unknown): HaloError {
  const { engine: name = LOCAL_ENGINE } = error as EngineError;
  const program = programOfImage(image);
  if (program !== undefined) return programMissing(program, name);
  if (name !== LOCAL_ENGINE)
    return new HaloError('IMAGE_MISSING', `The image ${JSON.stringify(image)} is not on the engine ${name}.`, {
      hint: `Run \`halo image push ${name} ${image}\`.`,
    });
  return new HaloError('IMAGE_MISSING', `The image ${JSON.stringify(image)} is not on this machine.`, {
    hint: 'Run `halo image build` for halo’s own image, or `docker pull` for yours.',
  });
}

/** An engine lacks a version of the program of an agent. */
function programMissing({ id, version }: { id: ProgramId; version: string }, engine: string): HaloError {
  const what = `${AGENT_PROGRAMS[id].title} ${version} is not installed`;
  const install = `halo agent update ${id} --to ${version}`;
  if (engine === LOCAL_ENGINE)
    return new HaloError('IMAGE_MISSING', `${what} on this machine.`, {
      hint: `Run \`${install}\`, or choose another version in agents.${id}.version.`,
    });
  return new HaloError('IMAGE_MISSING', `${what} on the engine ${engine}.`, {
    hint: `Run \`${install}\` and then \`halo image push ${engine} ${agentImage(id, version)}\`.`,
  });
}
