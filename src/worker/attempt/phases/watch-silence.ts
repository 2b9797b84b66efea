import { describeStarving, type HostLoad } from '../../../core/host-load.ts';

/** Agents of idle machines are silent for shorter times, except while a model thinks. */
const EVERY_MS = 120_000;

interface SilenceWatch {
  /** The agent has printed something. */
  heard(): void;
  stop(): void;
}

/**
 * Watches an agent that has just started, and reports once that it prints nothing while its machine is busy: a person
 * would take it for hung.
 */
export function watchSilence(
  report: (text: string) => Promise<void>,
  readLoad: () => HostLoad | undefined,
): SilenceWatch {
  let silentMs = 0;
  const timer = setInterval(() => {
    silentMs += EVERY_MS;
    const text = describeStarving(silentMs, readLoad());
    if (text === undefined) return;
    stop();
    // A report that fails also fails where the agent's own output is reported.
    report(text).catch(() => undefined);
  }, EVERY_MS);
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    clearInterval(timer);
  };
  const heard = () => {
    silentMs = 0;
    // It would start a timer again that is cleared.
    if (!isStopped) timer.refresh();
  };
  return { heard, stop };
}
