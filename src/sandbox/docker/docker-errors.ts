import { saysDiskFull } from '../../core/disk-full.ts';
import { HaloError } from '../../core/failure/errors.ts';

interface EngineError extends Error {
  statusCode?: number;
  code?: string;
  reason?: string;
  json?: { message?: string };
}

/** The HTTP status of an engine's answer, or undefined when it never answered. */
export function engineStatus(error: unknown): number | undefined {
  return (error as EngineError).statusCode;
}

/** An engine may quote a path of any length. */
const LONGEST = 1_000;

/** An error of dockerode as ours. `what` says what was tried, e.g. `create a container`. */
export function fromDocker(error: unknown, what: string): HaloError {
  if (error instanceof HaloError) return error;
  const { code, message, json } = error as EngineError;
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'EACCES') {
    return new HaloError('DOCKER_UNAVAILABLE', `Docker does not answer (${message})`, {
      hint:
        code === 'EACCES'
          ? 'this user may not use the Docker socket: add it to the docker group, or set DOCKER_HOST'
          : 'start the Docker engine, or set DOCKER_HOST; `halo doctor` checks it',
      cause: error,
    });
  }
  const why = (json?.message ?? message).slice(0, LONGEST);
  if (saysDiskFull(why)) {
    const hint = 'Free some space there, on this machine or on that of the container engine.';
    return new HaloError('DISK_FAILED', `The disk is full, so Docker could not ${what}: ${why}`, {
      hint,
      cause: error,
    });
  }
  return new HaloError('DOCKER_FAILED', `Docker could not ${what}: ${why}`, { cause: error });
}

/** Between a client and an engine: it is starting, or away. */
const AWAY = [502, 503, 504];

/**
 * Whether an error is the engine's own answer to what was asked. One that broke off, because the engine was killed or
 * stopped meanwhile, says nothing: the same may work a moment later.
 */
export function isAnswer(error: unknown): boolean {
  if (!(error instanceof HaloError) || error.code !== 'DOCKER_FAILED') return false;
  const status = error.cause === undefined ? undefined : engineStatus(error.cause);
  return status !== undefined && !AWAY.includes(status);
}

export function missingImage(image: string): HaloError {
  return new HaloError('IMAGE_MISSING', `the image ${JSON.stringify(image)} is not on this machine`, {
    hint: 'build halo’s own with `halo image build`, or pull yours with `docker pull`',
  });
}
