import { readFile } from 'node:fs/promises';
import type { Command, SandboxExit } from '../sandbox.ts';

export type KillReason = Exclude<SandboxExit['ended'], 'exited'>;

export interface LimitWatch {
  /** The limit that was reached first, if any. */
  reason(): KillReason | undefined;
  /** Counts output; returns whether it is still within the limit. */
  addOutput(bytes: number): boolean;
  /** Ends the command for a reason detected elsewhere. */
  end(why: KillReason): void;
  stop(): void;
}

/** Watches time, silence, output and the abort signal of a command; calls `kill` once, at the first limit reached. */
export function watchLimits(command: Command, kill: () => void): LimitWatch {
  let reason: KillReason | undefined;
  let bytes = 0;
  let lastHeard = performance.now();
  const end = (why: KillReason) => {
    if (reason !== undefined) return;
    reason = why;
    kill();
  };
  const onAbort = () => end('aborted');
  const wall = setTimeout(() => end('wall'), command.wallMs);
  const idle = setInterval(
    () => {
      if (performance.now() - lastHeard >= command.idleMs) end('idle');
    },
    Math.min(1_000, Math.max(10, command.idleMs / 4)),
  );
  if (command.signal?.aborted) onAbort();
  command.signal?.addEventListener('abort', onAbort, { once: true });
  return {
    reason: () => reason,
    end,
    addOutput: (size) => {
      lastHeard = performance.now();
      bytes += size;
      if (bytes > command.outputBytes) end('output');
      return bytes <= command.outputBytes;
    },
    stop: () => {
      clearTimeout(wall);
      clearInterval(idle);
      command.signal?.removeEventListener('abort', onAbort);
    },
  };
}

/** Event files of a container's cgroup: cgroup v2 and v1, without and with systemd. */
const EVENT_FILES = [
  (id: string) => `/sys/fs/cgroup/docker/${id}/pids.events`,
  (id: string) => `/sys/fs/cgroup/system.slice/docker-${id}.scope/pids.events`,
  (id: string) => `/sys/fs/cgroup/pids/docker/${id}/pids.events`,
  (id: string) => `/sys/fs/cgroup/pids/system.slice/docker-${id}.scope/pids.events`,
];

const EVERY_MS = 250;

/**
 * Watches whether the kernel refused to start a process because of the container's pids limit. Polls while the
 * container runs, because the counter is removed with it. Misses the last moments, and observes nothing on another machine.
 */
export function watchPidsLimit(
  id: string,
  isHere: () => Promise<boolean>,
): { refused: () => boolean; stop: () => void } {
  let [refused, here] = [false, false];
  isHere().then(
    (answer) => (answer ? (here = true) : stop()),
    () => stop(),
  );
  let places = EVENT_FILES.map((place) => place(id));
  const look = async () => {
    const texts = await Promise.all(places.map((path) => readFile(path, 'utf8').catch(() => undefined)));
    places = places.filter((_path, index) => texts[index] !== undefined);
    refused ||= texts.some((text) => text !== undefined && /^max [1-9]/m.test(text));
    if (refused || places.length === 0) stop();
  };
  const timer = setInterval(() => void look(), EVERY_MS).unref();
  const stop = () => clearInterval(timer);
  return { refused: () => refused && here, stop };
}
