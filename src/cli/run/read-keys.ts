import type { ReadStream } from 'node:tty';

const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';
const CTRL_BACKSLASH = '\u001c';

/**
 * Reads single keys, without echo. A terminal in this mode sends no signals, so Ctrl-C, Ctrl-Z and Ctrl-\ are handled
 * here. Returns a function that restores the terminal.
 */
export function readKeys(stdin: ReadStream, listener: (key: string) => void): () => void {
  const onData = (data: Buffer) => {
    for (const key of data.toString()) {
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT');
      else if (key === CTRL_BACKSLASH) process.kill(process.pid, 'SIGQUIT');
      else if (key === CTRL_Z) suspend();
      else listener(key);
    }
  };
  const suspend = () => {
    stdin.setRawMode(false);
    process.kill(process.pid, 'SIGTSTP');
  };
  const resume = () => void stdin.setRawMode(true);
  stdin.setRawMode(true);
  stdin.on('data', onData);
  stdin.resume();
  process.on('SIGCONT', resume);
  return () => {
    process.off('SIGCONT', resume);
    stdin.off('data', onData);
    stdin.pause();
    stdin.setRawMode(false);
  };
}
