import Docker from 'dockerode';

/** Long enough for an engine under heavy load. */
const DEADLINE_MS = 120_000;

type Modem = Docker['modem'] & { timeout?: number | undefined };
type Answer = NonNullable<Parameters<Modem['dial']>[1]>;

/**
 * A client of the engine, by default of the one that the environment names, whose every call ends: with an answer, with
 * the engine's error, or after a deadline. dockerode alone waits for ever for an engine that is stopped, and for one that
 * dies in the middle of an answer. DOCKER_CLIENT_TIMEOUT (ms; dockerode reads it for engines behind tcp://) is that
 * deadline here and not, as dockerode has it, the longest silence of a stream: sandboxes may be silent.
 */
export function openClient(docker: Docker = new Docker()): Docker {
  const modem = docker.modem as Modem;
  const deadlineMs = modem.timeout ?? DEADLINE_MS;
  modem.timeout = undefined;
  const dial = modem.dial.bind(modem);
  modem.dial = (call, answer) => {
    // The answer to a wait is the end of the container: whoever asks sets the limits.
    if (/^\/containers\/[^/]+\/wait\b/.test(call.path)) return dial(call, answer);
    const giveUp = new AbortController();
    let open = true;
    const settle: Answer = (error, result) => {
      if (!open) return;
      open = false;
      clearTimeout(timer);
      // What is no JSON comes as bytes.
      const broken = Buffer.isBuffer(result) && result.length > 0;
      answer?.(broken ? new Error('its answer broke off') : error, result);
    };
    const timer = setTimeout(() => {
      settle(new Error(`it did not answer within ${deadlineMs / 1_000} s`), null);
      giveUp.abort();
    }, deadlineMs);
    dial({ ...call, abortSignal: giveUp.signal }, settle);
  };
  return docker;
}
