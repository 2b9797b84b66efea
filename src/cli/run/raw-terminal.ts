import type { ReadStream } from 'node:tty';

/**
 * Takes all keys of a terminal, without echo, also Ctrl-C. If the terminal is closed, this process gets SIGHUP, which may be
 * ignored, e.g. under nohup. Returns a function that gives it back.
 */
export function takeKeys(stdin: ReadStream): () => void {
  const hangUp = () => void process.kill(process.pid, 'SIGHUP');
  stdin.setRawMode(true);
  stdin.on('error', hangUp);
  stdin.on('end', hangUp);
  return () => {
    stdin.off('end', hangUp);
    stdin.pause();
    try {
      stdin.setRawMode(false);
      stdin.off('error', hangUp);
    } catch {
      // The terminal is gone; later errors of it are of no interest.
    }
  };
}
