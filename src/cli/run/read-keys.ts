import { emitKeypressEvents, type Interface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { takeKeys } from './raw-terminal.ts';

/** A key as Node decodes it. */
interface KeyPress {
  sequence?: string;
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
  shift?: boolean;
}

/** Time to wait for the rest of an escape sequence, in ms: a single Esc is reported after it. */
const ESCAPE_MS = 50;

const NAMES: Record<string, string> = { return: 'enter', enter: 'enter', pageup: 'page-up', pagedown: 'page-down' };

/**
 * Reads single keys, without echo, and calls `listener` with their names: a character, or a name such as `up`, `enter`,
 * `ctrl-r` or `paste-start`. A terminal in this mode sends no signals, so Ctrl-C, Ctrl-Z and Ctrl-\ are handled here.
 * Returns a function that restores the terminal.
 */
export function readKeys(stdin: ReadStream, listener: (key: string) => void): () => void {
  const onPress = (_character: string | undefined, key: KeyPress) => {
    // Esc and the next key can arrive together, and then look like Alt with that key.
    if (key.meta === true && key.name !== 'escape') onPress(undefined, { sequence: '\u001b', name: 'escape' });
    const name = keyName(key);
    if (name === 'ctrl-c') process.kill(process.pid, 'SIGINT');
    else if (name === 'ctrl-\\') process.kill(process.pid, 'SIGQUIT');
    else if (name === 'ctrl-z') suspend();
    else if (name !== undefined) listener(name);
  };
  const suspend = () => {
    stdin.setRawMode(false);
    process.kill(process.pid, 'SIGTSTP');
  };
  const resume = () => void stdin.setRawMode(true);
  emitKeypressEvents(stdin, { escapeCodeTimeout: ESCAPE_MS } as unknown as Interface);
  const release = takeKeys(stdin);
  stdin.on('keypress', onPress);
  stdin.resume();
  process.on('SIGCONT', resume);
  return () => {
    process.off('SIGCONT', resume);
    stdin.off('keypress', onPress);
    release();
  };
}

/** The name of a key; undefined for sequences without one. */
export function keyName({
  sequence = '',
  name,
  ctrl = false,
  meta = false,
  shift = false,
}: KeyPress): string | undefined {
  if (sequence === '\u001c') return 'ctrl-\\';
  if (ctrl) return name === undefined ? undefined : `ctrl-${name}`;
  if (name === 'escape') return 'escape';
  const typed = meta ? sequence.replace(/^\u001b/, '') : sequence;
  if (name === 'space') return 'space';
  if (name === 'tab') return shift ? 'shift-tab' : 'tab';
  // A letter or sign, also outside of ASCII; D is not d.
  if (Array.from(typed).length === 1 && typed > ' ' && typed !== '\u007f') return typed;
  return name === undefined ? undefined : (NAMES[name] ?? name);
}
