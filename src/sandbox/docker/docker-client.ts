import Docker from 'dockerode';
import { findOpenFilesError, HaloError, isDiskFullMessage } from '../../core/failure/errors.ts';

/** Long enough for an engine under heavy load. */
const DEADLINE_MS = 120_000;

type Modem = Docker['modem'] & { timeout?: number | undefined };
type Answer = NonNullable<Parameters<Modem['dial']>[1]>;

/**
 * Opens a client of the engine (default: the one that the environment names) with a deadline for every call. dockerode
 * alone waits forever for an engine that is stopped or dies during a response. DOCKER_CLIENT_TIMEOUT (ms) sets the
 * deadline. dockerode reads it for tcp:// engines and would apply it to the silence of a stream, but a sandbox may be
 * silent for longer.
 */
export function openDockerClient(docker: Docker = new Docker()): Docker {
  const modem = docker.modem as Modem;
  const deadlineMs = modem.timeout ?? DEADLINE_MS;
  modem.timeout = undefined;
  const dial = modem.dial.bind(modem);
  modem.dial = (call, answer) => {
    // A wait ends with the container, so its caller sets the limit.
    if (/^\/containers\/[^/]+\/wait\b/.test(call.path)) return dial(call, answer);
    const giveUp = new AbortController();
    let open = true;
    const settle: Answer = (error, result) => {
      if (!open) return;
      open = false;
      clearTimeout(timer);
      // An incomplete response is not valid JSON and arrives as bytes.
      const broken = Buffer.isBuffer(result) && result.length > 0;
      answer?.(broken ? new Error('its response was cut off') : error, result);
    };
    const timer = setTimeout(() => {
      settle(new Error(`it did not answer within ${deadlineMs / 1_000} s`), null);
      giveUp.abort();
    }, deadlineMs);
    dial({ ...call, abortSignal: giveUp.signal }, settle);
  };
  return docker;
}

interface EngineError extends Error {
  statusCode?: number;
  code?: string;
  reason?: string;
  json?: { message?: string };
}

/** Returns the HTTP status of the engine's response, or undefined when there was none. */
export function engineStatus(error: unknown): number | undefined {
  return (error as EngineError).statusCode;
}

/** Maximum length of an engine's message, which may contain a path of any length. */
const MAX_MESSAGE = 1_000;

/** Converts an error of dockerode. `what` names the failed action, such as `create a container`. */
export function toDockerError(error: unknown, what: string): HaloError {
  if (error instanceof HaloError) return error;
  const openFiles = findOpenFilesError(error);
  if (openFiles !== undefined) return openFiles;
  const { code, message, json } = error as EngineError;
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'EACCES') {
    return new HaloError('DOCKER_UNAVAILABLE', `Docker does not answer (${message}).`, {
      hint:
        code === 'EACCES'
          ? 'Add this user to the docker group, which may use the Docker socket, or set DOCKER_HOST.'
          : 'Start the Docker engine, or set DOCKER_HOST.',
      cause: error,
    });
  }
  const why = (json?.message ?? message).slice(0, MAX_MESSAGE).replace(/[.\s]+$/, '');
  if (isDiskFullMessage(why)) {
    const hint = 'Free some space on the machine of the container engine.';
    return new HaloError('DISK_FAILED', `The disk is full, so Docker could not ${what}: ${why}.`, {
      hint,
      cause: error,
    });
  }
  return new HaloError('DOCKER_FAILED', `Docker could not ${what}: ${why}.`, { cause: error });
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

export function imageMissing(image: string): HaloError {
  return new HaloError('IMAGE_MISSING', `The image ${JSON.stringify(image)} is not on this machine.`, {
    hint: 'Run `halo image build` for halo’s own image, or `docker pull` for yours.',
  });
}
