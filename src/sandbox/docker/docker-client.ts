import Docker from 'dockerode';

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
