/** The next step of the loop after a task agent has ended; `exit` is the exit code of the loop. */
type ExitDecision = { kind: 'continue'; say?: string } | { kind: 'stop'; say: string; exit: number };

/** Interprets the exit code of any task agent. */
export function judgeExit(code: number): ExitDecision {
  if (code === 0) return { kind: 'continue' };
  if (code > 11 && code !== 130)
    return { kind: 'continue', say: `the task agent ended with ${code}: not completed, continuing` };
  const stop = (say: string, exit = code): ExitDecision => ({ kind: 'stop', say, exit });
  switch (code) {
    case 3:
      return stop('no runnable task', 0);
    case 4:
      return stop('human input required');
    case 5:
      return stop('a dependency is missing');
    case 6:
      return stop('the task cannot start');
    case 10:
      return stop('blocked: the task gave no result');
    case 11:
      return stop('blocked: the task was tried as often as it may be');
    case 130:
      return stop('interrupted');
    default:
      return stop(`the task agent failed with ${code}`);
  }
}
