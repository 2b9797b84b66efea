import type { Command, SandboxExit } from '../../sandbox.ts';

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
