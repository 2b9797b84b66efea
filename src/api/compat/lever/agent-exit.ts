/** What the loop does after a task agent ended; `exit` is that of the loop. */
export type Step = { kind: 'go on'; say?: string } | { kind: 'stop'; say: string; exit: number };

/** Reads the exit code of a task agent, whichever program it was. */
export function judgeExit(code: number): Step {
  if (code === 0) return { kind: 'go on' };
  if (code > 11 && code !== 130)
    return { kind: 'go on', say: `the task agent ended with ${code}: not completed, going on` };
  const stop = (say: string, exit = code): Step => ({ kind: 'stop', say, exit });
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
